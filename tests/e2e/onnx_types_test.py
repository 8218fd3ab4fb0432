# SPDX-License-Identifier: MIT
"""Casts from and to the 8-bit floats and the types of less than a byte: the reader, the oracle and
compiled code against ml_dtypes, on every half-precision number."""

import unittest

import ml_dtypes
import numpy as np
import onnx
import onnx_cases
import peers

FLOATS = [np.dtype(getattr(ml_dtypes, name)) for name in (
    "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float4_e2m1fn")]
INTS = [np.dtype(getattr(ml_dtypes, name)) for name in ("int4", "uint4", "int2", "uint2")]
HALVES = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
RNG = np.random.default_rng(17)


def make_case(name, op_type, inputs, result, **more):
    case = onnx_cases.make_case(name, op_type, inputs, opset=25, **more)
    case.model.ir_version = 11
    case.outputs = [result]
    case.rtol = case.atol = 0
    return case


def number_of(dtype):
    return onnx.helper.np_dtype_to_tensor_dtype(dtype)


def saturated(x, dtype):
    limit = np.float64(ml_dtypes.finfo(dtype).max)
    return np.clip(x.astype(np.float64), -limit, limit).astype(dtype)


def float_cases():
    singles = RNG.integers(0, 1 << 32, 20000, dtype=np.uint32).view(np.float32)
    moderate = (RNG.standard_normal(20000) * np.exp2(RNG.uniform(-18, 17, 20000)))
    for dtype in FLOATS:
        numbers = {"halves": HALVES, "singles": singles, "doubles": moderate,
                   "moderate": moderate.astype(np.float32)}
        for kind, x in numbers.items():
            name = "%s_%s" % (dtype.name, kind)
            yield make_case(name, "Cast", [x], saturated(x, dtype), to=number_of(dtype))
            yield make_case(name + "_overflow", "Cast", [x], x.astype(dtype), to=number_of(dtype),
                            saturate=0)
        count = 16 if dtype.itemsize == 1 and dtype.name.startswith("float4") else 256
        codes = np.arange(count, dtype=np.uint8).view(dtype)
        for to in (np.float32, np.float16, ml_dtypes.bfloat16):
            yield make_case("%s_to_%s" % (dtype.name, np.dtype(to).name), "Cast", [codes],
                            codes.astype(to), to=number_of(np.dtype(to)))


def int_cases():
    x = np.arange(-300, 300)
    for dtype in INTS:
        for wide in (np.int8, np.int32, np.int64, np.float32):
            numbers = x.astype(wide)
            bits = numbers.astype(np.int64).astype(np.uint8)
            info = ml_dtypes.iinfo(dtype)
            count = int(info.max) - int(info.min) + 1
            wanted = (bits % count).astype(np.int32)
            wanted = np.where(wanted > int(info.max), wanted - count, wanted).astype(dtype)
            yield make_case("%s_of_%s" % (dtype.name, numbers.dtype.name), "Cast", [numbers],
                            wanted, to=number_of(dtype))
        numbers = np.arange(int(info.min), int(info.max) + 1).astype(dtype)
        for wide in (np.int8, np.int64, np.float32, np.float16):
            yield make_case("%s_to_%s" % (dtype.name, np.dtype(wide).name), "Cast", [numbers],
                            numbers.astype(wide), to=number_of(np.dtype(wide)))


class OnnxTypes(unittest.TestCase):
    def test_casts_are_those_of_ml_dtypes(self):
        with np.errstate(invalid="ignore"):
            cases = list(float_cases()) + list(int_cases())
        self.assertEqual(peers.wrong_on_oracle(cases), [])
        for target in peers.TARGETS:
            self.assertEqual(peers.wrong_on_target(cases, target), [])

    def test_a_wrong_code_is_seen(self):
        x = np.float32([1, 2])
        case = make_case("wrong", "Cast", [x], np.float32([1, 2.25]).astype(FLOATS[0]),
                         to=number_of(FLOATS[0]))
        self.assertEqual(len(peers.wrong_on_oracle([case])), 1)
        self.assertEqual(len(peers.wrong_on_target([case], "llvm")), 1)


if __name__ == "__main__":
    unittest.main()
