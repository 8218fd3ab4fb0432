# SPDX-License-Identifier: MIT
"""ONNX backend test cases: taken from the `onnx` package, written as folders, run on the oracle.

A case is a model with inputs and the outputs that they should give. Camshaft compiles for known
shapes, so an input that decides a shape must be part of the model: bake() makes it an initializer.
"""

import os
import subprocess
import warnings
from dataclasses import dataclass, field

import numpy as np
import onnx
from onnx import numpy_helper

# Inputs that Camshaft wants to know when compiling, by operator.
KNOWN_INPUTS = {
    "CenterCropPad": (1,), "ConstantOfShape": (0,), "CumProd": (1,), "CumSum": (1,),
    "Dropout": (1, 2), "Expand": (1,), "OneHot": (1,), "Pad": (1, 3), "Range": (0, 1, 2),
    "Reshape": (1,), "Resize": (1, 2, 3), "Slice": (1, 2, 3, 4), "Split": (1,),
    "Squeeze": (1,), "Tile": (1,), "TopK": (1,), "Unsqueeze": (1,), "Upsample": (1,),
}
KNOWN_INPUTS.update({"Reduce" + kind: (1,) for kind in (
    "L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Prod", "Sum", "SumSquare")})


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
    """What became of a case: passed, failed, or the problems that the reader named."""

    case: Case
    status: str = "failed"
    problems: list = field(default_factory=list)


def is_tensor(value):
    """Whether a test value is a tensor, and not a sequence or an optional."""
    return isinstance(value, (np.ndarray, np.generic, onnx.TensorProto))


def to_array(value):
    """A tensor as an array."""
    if isinstance(value, onnx.TensorProto):
        return numpy_helper.to_array(value)
    return np.asarray(value)


def node_cases():
    """The operator tests inside the onnx package that concern the default domain."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from onnx.backend.test.case.node import collect_testcases
        collected = collect_testcases(None)
    for case in collected:
        if any(o.domain not in ("", "ai.onnx", "ai.onnx.ml") for o in case.model.opset_import):
            continue
        inputs, outputs = case.data_sets[0]
        yield Case(case.name, case.model, list(inputs), list(outputs), case.rtol, case.atol)


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


def integer_names(case):
    """The graph inputs that look like shapes: integers of at most one axis, and scalars."""
    return {i.name for i, value in zip(case.model.graph.input, case.inputs)
            if is_tensor(value) and to_array(value).ndim <= 1 and
            (to_array(value).dtype.kind in "iu" or to_array(value).ndim == 0)}


def bake(case, names):
    """A copy of a case with some of its inputs made initializers."""
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    del model.graph.input[:]
    inputs = []
    for info, value in zip(case.model.graph.input, case.inputs):
        if info.name in names and is_tensor(value):
            model.graph.initializer.append(to_proto(value, info.name))
        else:
            model.graph.input.append(info)
            inputs.append(value)
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
    """Writes a case in the layout of the ONNX backend tests; False if it isn't all tensors."""
    if not all(is_tensor(value) for value in case.inputs + case.outputs):
        return False
    data = os.path.join(folder, case.name, "test_data_set_0")
    os.makedirs(data)
    onnx.save(case.model, os.path.join(folder, case.name, "model.onnx"))
    for i, (info, value) in enumerate(zip(case.model.graph.input, case.inputs)):
        with open(os.path.join(data, "input_%d.pb" % i), "wb") as f:
            f.write(to_proto(value, info.name).SerializeToString())
    return True


def oracle_program():
    """The path of the oracle, built beside the other programs."""
    return os.path.join(os.environ.get("CAMSHAFT_BUILD", "build"), "tools/reference/oracle")


def run_oracle(folder, *flags):
    """Runs all cases of a folder in one process: {name: (status, sentence)}."""
    done = subprocess.run([oracle_program(), *flags, folder], stdout=subprocess.PIPE, check=False)
    lines = done.stdout.decode(errors="replace").splitlines()
    results = {name: (status, text) for name, status, text in (l.split("\t", 2) for l in lines)}
    if done.returncode < 0 or len(results) != len(os.listdir(folder)):
        raise AssertionError("the oracle ended with %d after %d of %d cases" % (
            done.returncode, len(results), len(os.listdir(folder))))
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


def difference(case, folder):
    """What is wrong with the outputs that the oracle wrote, or ''."""
    for i, expected in enumerate(case.outputs):
        path = os.path.join(folder, case.name, "test_data_set_0", "actual_%d.pb" % i)
        with open(path, "rb") as f:
            actual = numpy_helper.to_array(onnx.TensorProto.FromString(f.read()))
        expected = to_array(expected)
        wanted = carrier_of(expected.dtype)
        if actual.dtype != wanted or actual.shape != expected.shape:
            return "output %d is %s%s, not %s%s" % (i, actual.dtype, list(actual.shape),
                                                   wanted, list(expected.shape))
        is_narrow = wanted != expected.dtype
        actual = from_carrier(actual, expected.dtype)
        # numpy can't compare bfloat16; the package's own runner, too, allows it two units.
        wide = np.float64 if expected.dtype.kind not in "iub" else expected.dtype
        rtol = max(case.rtol, 2**-6) if expected.dtype.name == "bfloat16" else case.rtol
        rtol, atol = (0, 0) if is_narrow else (rtol, case.atol)
        try:
            np.testing.assert_allclose(actual.astype(wide), expected.astype(wide), rtol=rtol,
                                       atol=atol)
        except AssertionError as error:
            return "output %d: %s" % (i, " ".join(str(error).split())[:300])
    return ""


def run_cases(cases, folder):
    """Runs cases on the oracle; where it must know more, once more with more inputs baked."""
    results, again = [], []
    for attempt, attempt_cases in enumerate((list(cases), again)):
        here = os.path.join(folder, str(attempt))
        os.makedirs(here)
        written = []
        for case in attempt_cases:
            case = case if attempt else bake(case, known_names(case.model))
            if write_case(case, here):
                written.append(case)
            else:
                results.append(Result(case, "unsupported", ["sequences and optionals are refused"]))
        ran = run_oracle(here) if written else {}
        for case in written:
            status, text = ran[case.name]
            if attempt == 0 and "must be known when compiling" in text and integer_names(case):
                again.append(bake(case, integer_names(case)))
                continue
            problems = text.split(" | ") if text else []
            if status == "ok":
                problem = difference(case, here)
                problems = [problem] if problem else []
                status = "failed" if problem else "passed"
            elif status != "unsupported":
                status = "failed"
            results.append(Result(case, status, problems))
    return results
