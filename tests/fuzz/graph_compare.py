# SPDX-License-Identifier: MIT
"""Runs random graphs on all implementations and says where they disagree."""

import os
import tempfile
from dataclasses import dataclass

import numpy as np
import onnx
import onnxruntime
from onnx import numpy_helper
from onnx.reference import ReferenceEvaluator

import graph_maker
import onnx_cases

onnxruntime.set_default_logger_severity(4)  # it warns of its own faults

IMPLEMENTATIONS = ("exact", "oracle", "llvm", "cpu")
# Relative to each element, and, a tenth of it, to the largest of its tensor.
TOLERANCES = {"float64": 1e-6, "float32": 1e-4, "float16": 2**-8, "bfloat16": 2**-5}
# Of how far rounding every node's result moves an element: what is sensitive may differ by more.
# Of the root of the mean square over the tensor, too: an element may be near by luck.
SENSITIVITY = 16
TENSOR_SENSITIVITY = 4


@dataclass
class Verdict:
    """What is wrong with a graph: a kind, which a smaller graph must share, and a sentence. Neither
    where all agree. `peers`: how many outputs onnxruntime has confirmed."""

    kind: str = ""
    text: str = ""
    peers: int = 0


# Between the two opsets nothing but types was added, and onnxruntime has some operators of the
# older one only.
PEER_OPSETS = (graph_maker.OPSET, 21)


def run_onnxruntime(model, inputs):
    """{output: array}, or None where it can't run the model."""
    for opset in PEER_OPSETS:
        model.opset_import[0].version = opset
        outputs = run_session(model, inputs)
        if outputs is not None:
            return outputs
    return None


def run_session(model, inputs):
    """The same at the model's own opset."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString(), options,
                                               providers=["CPUExecutionProvider"])
        feeds = {i.name: inputs[i.name] for i in session.get_inputs()}
        names = [o.name for o in session.get_outputs()]
        return dict(zip(names, session.run(names, feeds)))
    except Exception:  # of many kinds; what it lacks is no fault of ours
        return None


def write_case(name, graphs, folder):
    """Several graphs as one case."""
    data = os.path.join(folder, name, "test_data_set_0")
    os.makedirs(data)
    onnx.save(graph_maker.to_model(graphs), os.path.join(folder, name, "model.onnx"))
    inputs = [item for graph in graphs for item in graph.inputs.items()]
    for i, (tensor, array) in enumerate(inputs):
        with open(os.path.join(data, "input_%d.pb" % i), "wb") as f:
            f.write(numpy_helper.from_array(array, tensor).SerializeToString())


def read_outputs(folder, name, on):
    """{output: array} that an implementation wrote."""
    outputs = {}
    data = os.path.join(folder, name, "test_data_set_0")
    for file in os.listdir(data):
        if file.startswith(on + "_"):
            with open(os.path.join(data, file), "rb") as f:
                tensor = onnx.TensorProto.FromString(f.read())
            outputs[tensor.name] = numpy_helper.to_array(tensor)
    return outputs


def same_bits(a, b):
    """Equal, where one NaN is as good as another."""
    wide = a.astype(np.float64) if a.dtype in graph_maker.FLOATS else a
    other = b.astype(np.float64) if b.dtype in graph_maker.FLOATS else b
    return a.dtype == b.dtype and np.array_equal(wide, other, wide.dtype.kind == "f")


def root_mean_square(array):
    """0 for no elements."""
    return float(np.sqrt(np.mean(array**2))) if array.size else 0.0


def differs(actual, oracle, exact):
    """Where an array is not what the oracle computes, in words, or ''."""
    if actual.dtype != oracle.dtype or actual.shape != oracle.shape:
        return "is %s%s, not %s%s" % (actual.dtype, list(actual.shape), oracle.dtype,
                                      list(oracle.shape))
    if oracle.dtype not in graph_maker.FLOATS:
        wrong = actual != oracle
    else:
        got, wanted, precise = (v.astype(np.float64) for v in (actual, oracle, exact))
        tolerance = TOLERANCES[oracle.dtype.name]
        largest = np.abs(wanted[np.isfinite(wanted)]).max(initial=1.0)
        with np.errstate(invalid="ignore"):
            allowed = tolerance * (np.abs(wanted) + 0.1 * largest)
            moved = np.nan_to_num(np.abs(wanted - precise), posinf=np.inf)
            finite = moved[np.isfinite(moved)]
            allowed = allowed + SENSITIVITY * moved + TENSOR_SENSITIVITY * root_mean_square(finite)
            near = np.abs(got - wanted) <= allowed
        wrong = ~(near | (got == wanted) | (np.isnan(got) & np.isnan(wanted)))
    if not wrong.any():
        return ""
    place = tuple(int(i) for i in np.argwhere(wrong)[0])
    return "has %d of %d elements off, at %s %s, not %s" % (
        wrong.sum(), wrong.size, list(place), actual[place], oracle[place])


def judge(graph, outputs, peer):
    """The verdict on one graph, given {implementation: outputs} and onnxruntime's outputs."""
    verdict = Verdict()
    for value in graph.outputs():
        exact, oracle, llvm, cpu = (outputs[on][value.name] for on in IMPLEMENTATIONS)
        problems = [("llvm", differs(llvm, oracle, exact)),
                    ("cpu", "" if same_bits(cpu, llvm) else "has other bits than llvm: " +
                     (differs(cpu, llvm, llvm) or "few"))]
        if peer is not None:
            text = differs(peer[value.name], oracle, exact)
            is_peer_wrong = bool(text) and overrules(graph, value, oracle, exact)
            problems.append(("onnxruntime", "" if is_peer_wrong else text))
            verdict.peers += not is_peer_wrong
        for kind, text in problems:
            if text:
                return Verdict(kind, "%s %s" % (value.name, text))
    return verdict


def overrules(graph, value, oracle, exact):
    """Whether the onnx package's evaluator computes what the oracle does. Then it is onnxruntime
    that is wrong: it computes integer products in double, and resizes with cubes of its own."""
    model = graph_maker.to_model([graph_maker.only_for(graph, value)])
    try:
        [output] = ReferenceEvaluator(model).run(
            [value.name], {i.name: graph.inputs[i.name] for i in model.graph.input})
        return not differs(np.asarray(output), oracle, exact)
    except Exception:  # it lacks types, too
        return False


class Runner:
    """Compares graphs, many at a time: a batch is one model, since programs take longer to start
    than to compile a small graph. Where something is wrong with a batch, its graphs run alone."""

    def __init__(self, jobs=1, batch=12):
        self.jobs = jobs
        self.batch = batch

    def compare(self, graphs):
        """A verdict a graph. Their names must differ."""
        batches = [graphs[i:i + self.batch] for i in range(0, len(graphs), self.batch)]
        verdicts = []
        for group, found in zip(batches, self._run(batches)):
            if len(group) > 1 and isinstance(found, Verdict):
                found = [v if isinstance(v, list) else [v] for v in self._run([[g] for g in group])]
                found = [v for alone in found for v in alone]
            verdicts += [found] if isinstance(found, Verdict) else found
        return verdicts

    def _run(self, groups):
        """For each group a list of verdicts, or one on the group as a whole."""
        with tempfile.TemporaryDirectory() as folder:
            for i, group in enumerate(groups):
                write_case("case%d" % i, group, folder)
            ran = onnx_cases.run_folder(folder, "--jobs", str(self.jobs), on=IMPLEMENTATIONS)
            return [self._judge_group("case%d" % i, group, ran, folder)
                    for i, group in enumerate(groups)]

    @staticmethod
    def _judge_group(name, group, ran, folder):
        for on in IMPLEMENTATIONS:
            status, text = ran[name, on]
            if status != "ok":
                return Verdict("%s: %s" % (on, status), text)
        outputs = {on: read_outputs(folder, name, on) for on in IMPLEMENTATIONS}
        inputs = {n: a for graph in group for n, a in graph.inputs.items()}
        peer = run_onnxruntime(graph_maker.to_model(group), inputs)
        verdicts = []
        for graph in group:
            alone = peer
            if peer is None and len(group) > 1:
                alone = run_onnxruntime(graph_maker.to_model([graph]), graph.inputs)
            verdicts.append(judge(graph, outputs, alone))
        return verdicts
