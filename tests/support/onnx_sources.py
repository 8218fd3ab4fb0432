# SPDX-License-Identifier: MIT
"""Where ONNX test cases come from: the `onnx` package, which makes them, and the Debian package
libonnx-testdata, an older one, which holds them as files. What both have is taken once."""

import glob
import hashlib
import os
import warnings

import numpy as np
import onnx
from onnx import numpy_helper

from onnx_cases import Case, declared_inputs, is_tensor, to_array

PACKAGED = "/usr/share/libonnx-testdata/data"
PACKAGED_KINDS = ("node", "simple", "pytorch-operator", "pytorch-converted")


def generated_cases():
    """The operator tests and small models that the onnx package makes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from onnx.backend.test.case.model import collect_testcases as collect_models
        from onnx.backend.test.case.node import collect_testcases as collect_nodes
        collected = collect_nodes(None) + collect_models()
    for case in collected:
        for number, (inputs, outputs) in enumerate(case.data_sets or []):
            yield Case(set_name(case.name, number), case.model, list(inputs), list(outputs),
                       case.rtol, case.atol)


def set_name(name, number):
    """The name of a case's data set."""
    return name if number == 0 else "%s-%d" % (name, number)


def read_value(info, path):
    """A stored input or output: an array, or, where the model declares no tensor, the bytes."""
    with open(path, "rb") as f:
        data = f.read()
    if info.type.WhichOneof("value") != "tensor_type":
        return data
    tensor = onnx.TensorProto.FromString(data)
    if tensor.data_type == onnx.TensorProto.STRING:
        return tensor
    # Old packages store bfloat16 as the integers that stand for it.
    if (info.type.tensor_type.elem_type == onnx.TensorProto.BFLOAT16 and
            tensor.data_type == onnx.TensorProto.UINT16):
        tensor.data_type = onnx.TensorProto.BFLOAT16
    return numpy_helper.to_array(tensor)


def packaged_case(path, name, data_set):
    """The case of one stored model and data set."""
    def stored(kind):
        return sorted(glob.glob(os.path.join(data_set, kind + "_*.pb")),
                      key=lambda p: int(p[:-len(".pb")].rpartition("_")[2]))

    model = onnx.load(path)
    inputs = declared_inputs(model, len(stored("input")))
    return Case(name, model, [read_value(*each) for each in zip(inputs, stored("input"))],
                [read_value(*each) for each in zip(model.graph.output, stored("output"))])


def packaged_cases():
    """The tests of libonnx-testdata. Their names begin with the folder that they are in."""
    for kind in PACKAGED_KINDS:
        for path in sorted(glob.glob(os.path.join(PACKAGED, kind, "*", "model.onnx"))):
            folder = os.path.dirname(path)
            for number in range(len(glob.glob(os.path.join(folder, "test_data_set_*")))):
                yield packaged_case(path, "%s.%s" % (kind, set_name(os.path.basename(folder), number)),
                                    os.path.join(folder, "test_data_set_%d" % number))


def fingerprint(case):
    """Equal for cases that ask the same."""
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    for field in ("producer_name", "producer_version", "doc_string", "ir_version"):
        model.ClearField(field)
    digest = hashlib.sha256(model.SerializeToString(deterministic=True))
    for value in case.inputs + case.outputs:
        array = to_array(value) if is_tensor(value) else None
        digest.update(repr(value).encode() if array is None else
                      repr((array.dtype.name, array.shape)).encode() + array.tobytes())
    return digest.digest()


def unique(cases):
    """The cases, each question once; the first name stays."""
    seen = set()
    for case in cases:
        key = fingerprint(case)
        if key not in seen:
            seen.add(key)
            yield case


def light_cases():
    """The nine light networks of the onnx package: known architectures whose weights are constants.
    Their input is the one for which the package holds the output."""
    folder = os.path.join(os.path.dirname(onnx.__file__), "backend", "test", "data", "light")
    for path in sorted(glob.glob(os.path.join(folder, "*.onnx"))):
        model = onnx.load(path)
        shapes = [[d.dim_value or 1 for d in info.type.tensor_type.shape.dim]
                  for info in declared_inputs(model, 1)]
        ramps = [np.arange(np.prod(s)).reshape(s) / np.prod(s) for s in shapes]
        output = read_value(model.graph.output[0], path.replace(".onnx", "_output_0.pb"))
        yield Case("light." + os.path.basename(path)[len("light_"):-len(".onnx")], model,
                   [ramp.astype(np.float32) for ramp in ramps], [output])
