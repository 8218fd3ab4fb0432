# SPDX-License-Identifier: MIT
"""Cases of onnx_cases against onnxruntime: on the oracle, and compiled for the CPU targets."""

import os
import tempfile

import e2e
import numpy as np
import onnx
import onnx.compose
import onnx_cases
import onnxruntime

TARGETS = ("llvm", "cpu")
onnxruntime.set_default_logger_severity(4)  # it warns of its own faults


def reference(case, is_optimized=True):
    """The outputs of onnxruntime. Optimized, it replaces dequantised products by integer ones,
    which quantises activations that the model does not, and saturates on many machines."""
    options = onnxruntime.SessionOptions()
    if not is_optimized:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(case.model.SerializeToString(), options,
                                           providers=["CPUExecutionProvider"])
    names = [info.name for info in case.model.graph.input]
    return session.run(None, dict(zip(names, case.inputs)))


def refer(cases, rtol=1e-4, atol=1e-5):
    """Gives the cases the outputs that onnxruntime has for them, where they have none; returns
    (cases that now have outputs, sentences about those that onnxruntime refuses)."""
    referred, wrong = [], []
    for case in cases:
        try:
            case.outputs = case.outputs or reference(case)
        except Exception as error:
            wrong.append("%s: onnxruntime says %s" % (case.name, str(error)[:300]))
            continue
        case.rtol, case.atol = rtol, atol
        referred.append(case)
    return referred, wrong


def wrong_on_oracle(cases):
    """A sentence for each case that the reader and the oracle do not get right."""
    with tempfile.TemporaryDirectory() as folder:
        results = onnx_cases.run_cases(cases, folder)
    assert len(results) == len(cases)
    return ["%s %s: %s" % (result.case.name, result.status, result.problems)
            for result in results if result.status != "passed"]


def merge(cases):
    """One case of many whose models are of one opset: names get the case's number as a prefix."""
    model = onnx.ModelProto()
    model.CopyFrom(cases[0].model)
    model.ClearField("graph")
    model.graph.name = "merged"
    inputs, outputs = [], []
    for i, case in enumerate(cases):
        prefixed = onnx.compose.add_prefix(case.model, "%d_" % i).graph
        for part in ("node", "initializer", "input", "output"):
            getattr(model.graph, part).extend(getattr(prefixed, part))
        inputs += case.inputs
        outputs += case.outputs
    return onnx_cases.Case("merged", model, inputs, outputs)


def wrong_on_target(cases, target):
    """A sentence for each case that, compiled for a target and run, is not right. Inputs that must
    be known when compiling are made initializers. Cases of one opset are compiled together."""
    opsets = {}
    for case in cases:
        baked = onnx_cases.bake(case, onnx_cases.known_names(case.model))
        opsets.setdefault(case.model.opset_import[0].version, []).append(baked)
    return [problem for group in opsets.values() for problem in _wrong_of_group(group, target)]


def run_on_target(case, target):
    """{output: array} of a case that is compiled for a target and run, or what went wrong."""
    with tempfile.TemporaryDirectory() as folder:
        path = [os.path.join(folder, name) for name in ("m.onnx", "m.plan", "in.npz", "out.npz")]
        onnx.save(case.model, path[0])
        inputs = [onnx_cases.to_carrier(np.asarray(value)) for value in case.inputs]
        np.savez(path[2], **dict(zip([i.name for i in case.model.graph.input], inputs)))
        for command in (("compile", path[0], "--target", target, "-o", path[1]),
                        ("run", path[1], "--input", path[2], "--output", path[3])):
            done = e2e.camshaft(*command)
            if done.returncode != 0:
                return done.stderr
        return dict(np.load(path[3]))


def _wrong_of_group(cases, target):
    actual = run_on_target(merge(cases), target)
    if isinstance(actual, str):
        return ["%s of %s: %s" % (target, [case.name for case in cases], actual)]
    wrong = []
    for i, case in enumerate(cases):
        for info, expected in zip(case.model.graph.output, case.outputs):
            try:
                expected = np.asarray(expected)
                got = onnx_cases.from_carrier(actual["%d_%s" % (i, info.name)], expected.dtype)
                wide = np.float64 if got.dtype.kind == "V" else got.dtype  # ml_dtypes' own
                np.testing.assert_allclose(got.astype(wide), expected.astype(wide),
                                           rtol=case.rtol, atol=case.atol)
            except AssertionError as error:
                sentence = " ".join(str(error).split())[:300]
                wrong.append("%s on %s: %s" % (case.name, target, sentence))
    return wrong
