# SPDX-License-Identifier: MIT
"""ONNX test cases: written as folders, run on the oracle and on targets, and compared.

A case is a model with inputs and the outputs that they should give. Camshaft compiles for known
shapes, so an input that decides a shape must be part of the model: bake() makes it an initializer.
Where cases come from: onnx_sources.py.
"""

import os
import subprocess
from dataclasses import dataclass, field

import numpy as np
import onnx
from onnx import numpy_helper

# Inputs that Camshaft wants to know when compiling, by operator.
KNOWN_INPUTS = {
    "AffineGrid": (1,), "BlackmanWindow": (0,), "CenterCropPad": (1,), "Col2Im": (1, 2),
    "ConstantOfShape": (0,), "CumProd": (1,), "CumSum": (1,), "DFT": (1, 2), "Dropout": (1, 2),
    "Expand": (1,), "HammingWindow": (0,), "HannWindow": (0,), "MaxUnpool": (2,),
    "MelWeightMatrix": (0, 1, 2, 3, 4), "OneHot": (1,), "Pad": (1, 3), "Range": (0, 1, 2),
    "Reshape": (1,), "Resize": (1, 2, 3), "STFT": (1, 3),
    "Slice": (1, 2, 3, 4), "Split": (1,), "Squeeze": (1,), "Tile": (1,), "TopK": (1,),
    "Unsqueeze": (1,), "Upsample": (1,),
}
KNOWN_INPUTS.update({"Reduce" + kind: (1,) for kind in (
    "L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Prod", "Sum", "SumSquare")})


# Two units in the last place of the narrow types, whose values are rounded where they are stored.
TWO_UNITS = {"bfloat16": 2**-6, "float16": 2**-9}


@dataclass
class Case:
    """One test: arrays by position, as the model lists its inputs and outputs."""

    name: str
    model: onnx.ModelProto
    inputs: list
    outputs: list
    rtol: float = 1e-3
    atol: float = 1e-7


@dataclass
class Result:
    """What became of a case on one implementation: passed, failed, or unsupported, and the problems
    that it named."""

    case: Case
    status: str = "failed"
    problems: list = field(default_factory=list)
    on: str = "oracle"


def is_tensor(value):
    """Whether a test value is a tensor of numbers: no text, sequence or optional."""
    if isinstance(value, onnx.TensorProto):
        return value.data_type != onnx.TensorProto.STRING
    return isinstance(value, (np.ndarray, np.generic)) and np.asarray(value).dtype.kind not in "OUS"


def to_array(value):
    """A tensor as an array."""
    if isinstance(value, onnx.TensorProto):
        return numpy_helper.to_array(value)
    return np.asarray(value)


def make_case(name, op_type, inputs, opset=13, outputs=1, domain="", **attributes):
    """A case of one node, without expected outputs. An input that is None is left out."""
    names = ["" if value is None else "in%d" % i for i, value in enumerate(inputs)]
    node = onnx.helper.make_node(op_type, names, ["out%d" % i for i in range(outputs)],
                                 name=name, domain=domain, **attributes)
    given = [(n, np.asarray(v)) for n, v in zip(names, inputs) if n]
    infos = [onnx.helper.make_tensor_value_info(
        n, onnx.helper.np_dtype_to_tensor_dtype(v.dtype), v.shape) for n, v in given]
    results = [onnx.ValueInfoProto(name=n) for n in node.output]
    graph = onnx.helper.make_graph([node], name, infos, results)
    opsets = [onnx.helper.make_opsetid("", opset)]
    if domain:
        opsets.append(onnx.helper.make_opsetid(domain, 1))
    model = onnx.helper.make_model(graph, ir_version=8, opset_imports=opsets)
    return Case(name, model, [v for _, v in given], [])


def known_names(model):
    """The graph inputs that feed an operator's KNOWN_INPUTS, directly."""
    return {node.input[i] for node in model.graph.node for i in KNOWN_INPUTS.get(node.op_type, ())
            if i < len(node.input)}


def declared_inputs(model, count):
    """What a model declares of each of `count` inputs. Old models list their weights among the
    inputs; a case may leave those out."""
    infos = list(model.graph.input)
    if len(infos) == count:
        return infos
    weights = {initializer.name for initializer in model.graph.initializer}
    return [info for info in infos if info.name not in weights]


def input_infos(case):
    """What the model declares of each of the case's inputs."""
    return declared_inputs(case.model, len(case.inputs))


def integer_names(case):
    """The graph inputs that look like shapes: integers of at most one axis, and scalars."""
    return {info.name for info, value in zip(input_infos(case), case.inputs)
            if is_tensor(value) and to_array(value).ndim <= 1 and
            (to_array(value).dtype.kind in "iu" or to_array(value).ndim == 0)}


def bake(case, names):
    """A copy of a case with some of its inputs made initializers."""
    baked = {info.name: value for info, value in zip(input_infos(case), case.inputs)
             if info.name in names and is_tensor(value)}
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    del model.graph.input[:]
    model.graph.input.extend(i for i in case.model.graph.input if i.name not in baked)
    model.graph.initializer.extend(to_proto(value, name) for name, value in baked.items())
    inputs = [value for info, value in zip(input_infos(case), case.inputs)
              if info.name not in baked]
    return Case(case.name, model, inputs, case.outputs, case.rtol, case.atol)


def to_proto(value, name):
    """A tensor as a TensorProto of that name."""
    if not isinstance(value, onnx.TensorProto):
        return numpy_helper.from_array(np.asarray(value), name)
    tensor = onnx.TensorProto()
    tensor.CopyFrom(value)
    tensor.name = name
    return tensor


def write_case(case, folder):
    """Writes a case in the layout of the ONNX backend tests. Inputs that are no tensors are left
    out: the model must be refused because of them."""
    data = os.path.join(folder, case.name, "test_data_set_0")
    os.makedirs(data)
    onnx.save(case.model, os.path.join(folder, case.name, "model.onnx"))
    tensors = [(info, value) for info, value in zip(input_infos(case), case.inputs)
               if is_tensor(value)]
    for i, (info, value) in enumerate(tensors):
        with open(os.path.join(data, "input_%d.pb" % i), "wb") as f:
            f.write(to_proto(value, info.name).SerializeToString())


def run_folder(folder, *flags, on=("oracle",)):
    """Runs all cases of a folder: {(name, implementation): (status, sentence)}."""
    program = os.path.join(os.environ.get("CAMSHAFT_BUILD", "build"), "tools/reference/conformance")
    done = subprocess.run([program, "--on", ",".join(on), *flags, folder], stdout=subprocess.PIPE,
                          check=False)
    lines = done.stdout.decode(errors="replace").splitlines()
    results = {(name, where): (status, text)
               for name, where, status, text in (line.split("\t", 3) for line in lines)}
    expected = {(name, where) for name in os.listdir(folder) for where in on}
    if done.returncode not in (0, 1) or set(results) != expected:
        raise AssertionError("%s ended with %d after %d of %d results" % (
            program, done.returncode, len(results), len(expected)))
    return results


# Types that Camshaft stores in another: integers as their numbers, floats as their codes.
CARRIERS = {"int4": np.int8, "uint4": np.uint8, "int2": np.int8, "uint2": np.uint8}


def is_code(dtype):
    """Whether a dtype is a float of 8 bits or less."""
    return dtype.name.startswith(("float8_", "float6_", "float4_"))


def carrier_of(dtype):
    """The dtype in which Camshaft hands out values of a dtype."""
    return np.dtype(np.uint8 if is_code(dtype) else CARRIERS.get(dtype.name, dtype))


def to_carrier(array):
    """An array as Camshaft takes it."""
    carrier = carrier_of(array.dtype)
    return array.view(carrier) if is_code(array.dtype) else array.astype(carrier)


def from_carrier(array, dtype):
    """Values of a dtype from what Camshaft handed out."""
    # NumPy's files hold bfloat16 as two bytes without a meaning.
    return array.view(dtype) if is_code(dtype) or array.dtype.kind == "V" else array.astype(dtype)


def difference(case, folder, on="oracle"):
    """What is wrong with the outputs that an implementation wrote, or ''."""
    for i, expected in enumerate(case.outputs):
        path = os.path.join(folder, case.name, "test_data_set_0", "%s_%d.pb" % (on, i))
        with open(path, "rb") as f:
            actual = numpy_helper.to_array(onnx.TensorProto.FromString(f.read()))
        if not is_tensor(expected):
            return "output %d is a tensor, which it should not be" % i
        expected = to_array(expected)
        wanted = carrier_of(expected.dtype)
        if actual.dtype != wanted or actual.shape != expected.shape:
            return "output %d is %s%s, not %s%s" % (i, actual.dtype, list(actual.shape),
                                                   wanted, list(expected.shape))
        is_narrow = wanted != expected.dtype
        actual = from_carrier(actual, expected.dtype)
        # numpy can't compare bfloat16. The package's own runner, too, allows it two units.
        wide = np.float64 if expected.dtype.kind not in "iub" else expected.dtype
        rtol = max(case.rtol, TWO_UNITS.get(expected.dtype.name, 0))
        rtol, atol = (0, 0) if is_narrow else (rtol, case.atol)
        try:
            np.testing.assert_allclose(actual.astype(wide), expected.astype(wide), rtol=rtol,
                                       atol=atol)
        except AssertionError as error:
            return "output %d: %s" % (i, " ".join(str(error).split())[:300])
    return ""


def judge(case, on, status, text, folder):
    """The result of a case that ran with this status."""
    problems = text.split(" | ") if text else []
    if status == "unsupported":
        return Result(case, status, problems, on)
    if status != "ok":
        return Result(case, "failed", problems or [status], on)
    problem = difference(case, folder, on)
    return Result(case, "failed" if problem else "passed", [problem] if problem else [], on)


def run_cases(cases, folder, on=("oracle",), jobs=1, together=1):
    """Runs cases, so many of them as one model; where Camshaft must know more when compiling, once
    more with more inputs baked."""
    results, pending = [], [bake(case, known_names(case.model)) for case in cases]
    for attempt in ("0", "1"):
        here = os.path.join(folder, attempt)
        os.makedirs(here)
        for case in pending:
            write_case(case, here)
        ran = run_folder(here, "--jobs", str(jobs), "--together", str(together),
                         on=on) if pending else {}
        again = []
        for case in pending:
            texts = [ran[case.name, where][1] for where in on]
            if (attempt == "0" and integer_names(case) and
                    all("must be known when compiling" in text for text in texts)):
                again.append(bake(case, integer_names(case)))
                continue
            results += [judge(case, where, *ran[case.name, where], here) for where in on]
        pending = again
    return results
