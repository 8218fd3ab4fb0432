# SPDX-License-Identifier: MIT
"""The networks that are timed: where each comes from, its fixed shapes, inputs for it.

Every engine gets the same file, whose inputs have fixed extents, and the same inputs.
"""

import os
import subprocess
import sys
from dataclasses import dataclass, field, replace

import numpy as np
import onnx
from google.protobuf.message import DecodeError

from bench_peers import pictures
from bench_peers.places import BUILD, ROOT, Absent, package_file

ZOO = ("resnet18", "resnet50", "mobilenet_v2", "mobilenet_v3", "efficientnet_b0", "efficientnet_b2",
       "efficientnet_b2_road", "shufflenet_v2", "vit_tiny", "transformer")
SHARED_MODELS = os.path.join(os.path.dirname(ROOT), "shared", "models")


@dataclass(frozen=True)
class Subject:
    """A network by name. `given`: inputs that are not random, and decide shapes. `shapes`: of the
    random ones, where the file leaves extents open, which else are 1."""

    name: str
    source: str
    given: dict = field(default_factory=dict)
    shapes: dict = field(default_factory=dict)


@dataclass(frozen=True)
class Prepared:
    """A subject as files: the model, its inputs as .npz, and a folder for what engines make.
    `opened`: the model in an engine's own format."""

    name: str
    model: str
    inputs: str
    folder: str
    opened: str = ""


def all_subjects():
    """All of them by name, in the order of the tables."""
    models = {"roadnet": os.path.join(ROOT, "models", "roadnet", "roadnet.onnx"),
              "driver_monitoring": os.path.join(SHARED_MODELS, "driver_monitoring.onnx")}
    models.update((name, os.path.join(BUILD, "zoo", name + ".onnx")) for name in ZOO)
    subjects = [Subject(name, path) for name, path in models.items()]
    detector = package_file("nudenet", "320n.onnx")  # YOLOv8n with 18 classes
    subjects += [Subject("yolov8n_%d" % size, detector, {"images": pictures.photo(size, size)})
                 for size in (320, 640)]
    subjects.append(Subject(
        "ppocr_detector",
        package_file("rapidocr_onnxruntime", "models", "ch_PP-OCRv4_det_infer.onnx"),
        {"x": pictures.text_picture(480, 640)}))
    return {subject.name: subject for subject in subjects}


def make_zoo_network(name):
    """Writes a network of the zoo into the build folder."""
    maker = os.path.join(ROOT, "models", "zoo", "make_zoo.py")
    subprocess.run([sys.executable, maker, "--out", os.path.join(BUILD, "zoo"), "--no-check",
                    "--only", name], check=True, stdout=subprocess.DEVNULL)


def graph_inputs(model):
    """The inputs of a model that are no weights."""
    weights = {w.name for w in model.graph.initializer}
    return [value for value in model.graph.input if value.name not in weights]


def file_subject(path, shapes):
    """The network of an ONNX file, with those of `shapes` that are of its inputs. Raises ValueError
    where the file is none, or an input lacks a shape or has another one."""
    if not os.path.exists(path):
        raise ValueError("%s: there is no such file" % path)
    try:
        inputs = graph_inputs(onnx.load(path, load_external_data=False))
    except DecodeError:
        raise ValueError("%s is not an ONNX file" % path) from None
    for info in inputs:
        declared = [d.dim_value for d in info.type.tensor_type.shape.dim]
        text = "x".join(str(extent or "?") for extent in declared)
        shape = shapes.get(info.name, declared)
        if len(shape) != len(declared) or any(d not in (0, s) for d, s in zip(declared, shape)):
            raise ValueError("%s: --shape %s=%s does not fit its shape %s" % (
                path, info.name, "x".join(map(str, shape)), text))
        if 0 in shape:
            raise ValueError("%s: its input has free dimensions: give --shape %s=%s with numbers "
                             "in the place of each ?" % (path, info.name, text))
    names = {info.name for info in inputs}
    return Subject(os.path.splitext(os.path.basename(path))[0], path,
                   shapes={name: shape for name, shape in shapes.items() if name in names})


def input_values(model, subject):
    """A value for each input: the given ones, else normal numbers, or any byte for integers."""
    random = np.random.default_rng(0)
    values = {}
    for info in graph_inputs(model):
        kind = info.type.tensor_type
        shape = subject.shapes.get(info.name, [d.dim_value or 1 for d in kind.shape.dim])
        dtype = onnx.helper.tensor_dtype_to_np_dtype(kind.elem_type)
        if info.name in subject.given:
            values[info.name] = subject.given[info.name]
        elif dtype.kind in "iu":
            values[info.name] = random.integers(0, 255, shape).astype(dtype)
        else:
            values[info.name] = random.standard_normal(shape).astype(dtype)
    return values


def fix_shapes(model, values):
    """Gives the inputs the extents of their values, and drops what was said of other tensors."""
    for info in graph_inputs(model):
        dims = info.type.tensor_type.shape.dim
        for dim, extent in zip(dims, values[info.name].shape):
            dim.dim_value = extent
    del model.graph.value_info[:]
    for info in model.graph.output:
        if any(d.dim_param for d in info.type.tensor_type.shape.dim):
            info.type.tensor_type.ClearField("shape")
    return onnx.shape_inference.infer_shapes(model)


def write_if_changed(path, data):
    """Keeps the time stamp of a file that already holds the data."""
    if os.path.exists(path):
        with open(path, "rb") as f:
            if f.read() == data:
                return
    with open(path, "wb") as f:
        f.write(data)


def prepare(subject, folder):
    """Writes the subject's files below `folder`. Raises Absent where its source is not there."""
    if subject.name in ZOO and not os.path.exists(subject.source):
        make_zoo_network(subject.name)
    if not os.path.exists(subject.source):
        raise Absent("%s is not on this machine" % subject.source)
    here = os.path.join(folder, subject.name)
    os.makedirs(here, exist_ok=True)
    model = onnx.load(subject.source)
    values = input_values(model, subject)
    prepared = Prepared(subject.name, os.path.join(here, "model.onnx"),
                        os.path.join(here, "inputs.npz"), here)
    write_if_changed(prepared.model, fix_shapes(model, values).SerializeToString())
    np.savez(prepared.inputs, **values)
    return prepared


def with_floats(prepared):
    """The same with inputs of float32 in the place of integers that only Cast nodes read, which
    then have nothing left to do; as it is where there are none."""
    model = onnx.load(prepared.model)
    floats = set()
    for info in graph_inputs(model):
        readers = {node.op_type for node in model.graph.node if info.name in node.input}
        kind = info.type.tensor_type
        if readers == {"Cast"} and kind.elem_type != onnx.TensorProto.FLOAT:
            kind.elem_type = onnx.TensorProto.FLOAT
            floats.add(info.name)
    if not floats:
        return prepared
    result = replace(prepared, model=os.path.join(prepared.folder, "model_f32.onnx"),
                     inputs=os.path.join(prepared.folder, "inputs_f32.npz"))
    write_if_changed(result.model, without_casts(model, floats).SerializeToString())
    with np.load(prepared.inputs) as arrays:
        np.savez(result.inputs, **{name: arrays[name].astype(np.float32) if name in floats
                                   else arrays[name] for name in arrays.files})
    return result


def without_casts(model, names):
    """Has the readers of casts of inputs read the inputs."""
    renamed, kept = {}, []
    for node in model.graph.node:
        if node.op_type == "Cast" and node.input[0] in names:
            renamed[node.output[0]] = node.input[0]
            continue
        node.input[:] = [renamed.get(name, name) for name in node.input]
        kept.append(node)
    nodes = [onnx.NodeProto.FromString(node.SerializeToString()) for node in kept]
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    return model
