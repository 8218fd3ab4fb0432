# SPDX-License-Identifier: MIT
"""LSTM, GRU and RNN with random shapes and attributes, against onnxruntime: on the oracle and
compiled."""

import json
import os
import tempfile
import unittest

import e2e
import ml_dtypes
import numpy as np
import onnx
import onnx_cases
import peers
from onnx_cases import bake, make_case

RNG = np.random.default_rng(5)
GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
FUNCTIONS = {"LSTM": 3, "GRU": 2, "RNN": 1}
# Activations with what they take of activation_alpha and activation_beta.
ACTIVATIONS = {
    "Relu": (), "Tanh": (), "Sigmoid": (), "Affine": (0.7, 0.1), "LeakyRelu": (0.2,),
    "ThresholdedRelu": (0.3,), "ScaledTanh": (0.8, 0.6), "HardSigmoid": (0.3, 0.4), "Elu": (0.9,),
    "Softsign": (), "Softplus": ()}


def rand(*shape, scale=0.5, dtype=np.float32):
    return (RNG.standard_normal(shape) * scale).astype(dtype)


def chance(probability=0.5):
    return RNG.random() < probability


def activation_attributes(op, directions):
    names = list(RNG.choice(list(ACTIVATIONS), FUNCTIONS[op] * directions))
    taken = [ACTIVATIONS[name] for name in names]
    lists = {"activation_alpha": [t[0] for t in taken if t],
             "activation_beta": [t[1] for t in taken if len(t) > 1]}
    return {"activations": names, **{key: value for key, value in lists.items() if value}}


def random_attributes(op, directions):
    attributes = activation_attributes(op, directions) if chance() else {}
    if directions == 2:
        attributes["direction"] = "bidirectional"
    elif chance():
        attributes["direction"] = "reverse"
    if chance(0.3):
        attributes["clip"] = 0.4
    if op == "LSTM" and chance(0.3):
        attributes["input_forget"] = 1
    if op == "GRU" and chance():
        attributes["linear_before_reset"] = 1
    return attributes


def recurrent_case(name, op, steps=None, batch=None, hidden=None, opset=14, dtype=np.float32,
                   plain=False):
    """A case with random operands and attributes; `plain`: one direction, nothing optional."""
    directions = 1 if plain else int(RNG.integers(1, 3))
    steps = steps or int(RNG.integers(1, 8))
    batch = batch or int(RNG.integers(1, 5))
    hidden = hidden or int(RNG.integers(1, 9))
    size = int(RNG.integers(1, 7))
    rows = GATES[op] * hidden
    attributes = {} if plain else random_attributes(op, directions)
    optional = lambda value: value if not plain and chance() else None
    lengths = RNG.integers(1, steps + 1, batch).astype(np.int32)
    inputs = [rand(steps, batch, size, dtype=dtype), rand(directions, rows, size, dtype=dtype),
              rand(directions, rows, hidden, dtype=dtype),
              optional(rand(directions, 2 * rows, dtype=dtype)), optional(lengths),
              optional(rand(directions, batch, hidden, dtype=dtype))]
    if op == "LSTM":
        inputs += [optional(rand(directions, batch, hidden, dtype=dtype)),
                   optional(rand(directions, 3 * hidden, dtype=dtype))]
    return make_case(name, op, inputs, opset, outputs=3 if op == "LSTM" else 2,
                     hidden_size=hidden, **attributes)


def bounded(cases):
    """The cases whose outputs stay small: unbounded activations may grow beyond any tolerance."""
    cases, wrong = peers.refer(cases)
    assert wrong == [], wrong
    return [case for case in cases
            if all(np.abs(output).max(initial=0) < 100 for output in case.outputs)]


def random_cases(op):
    """All operands as data, then with weights (and every other time lengths) in the model."""
    for i in range(60):
        yield recurrent_case("%s_%d" % (op, i), op, opset=(7, 14, 22)[i % 3])
    for i in range(15):
        case = recurrent_case("%s_weights_%d" % (op, i), op, steps=6)
        yield bake(case, {"in%d" % position for position in (1, 2, 3, 7) + (4,) * (i % 2)})


def batch_first(case):
    """The same layer with layout 1."""
    inputs = [None] * 8
    for info, value in zip(case.model.graph.input, case.inputs):
        inputs[int(info.name[2:])] = value
    for i in (0, 5, 6):
        inputs[i] = None if inputs[i] is None else inputs[i].swapaxes(0, 1)
    node = case.model.graph.node[0]
    result = make_case(case.name + "_layout", node.op_type, inputs[:len(node.input)], 14,
                       outputs=len(node.output))
    result.model.graph.node[0].attribute.extend(node.attribute)
    result.model.graph.node[0].attribute.append(onnx.helper.make_attribute("layout", 1))
    result.outputs = [case.outputs[0].transpose(2, 0, 1, 3)]
    result.outputs += [output.swapaxes(0, 1) for output in case.outputs[1:]]
    return result


def in_dtype(case, dtype, rtol, atol):
    """The same layer in a dtype that onnxruntime lacks; expected is what it has for f32."""
    inputs = [value.astype(dtype) if value.dtype == np.float32 else value for value in case.inputs]
    case.inputs = [value.astype(old.dtype) for value, old in zip(inputs, case.inputs)]
    result = onnx_cases.Case(case.name + "_" + np.dtype(dtype).name, onnx.ModelProto(), inputs,
                             [output.astype(dtype) for output in peers.reference(case)])
    result.model.CopyFrom(case.model)
    for info, value in zip(result.model.graph.input, inputs):
        info.type.tensor_type.elem_type = onnx.helper.np_dtype_to_tensor_dtype(value.dtype)
    result.rtol, result.atol = rtol, atol
    return result


class Recurrent(unittest.TestCase):
    def check(self, cases, on_target=lambda case: True, least=3):
        """Every case on the oracle, and some of them compiled as well."""
        self.assertEqual(peers.wrong_on_oracle(cases), [])
        chosen = [case for case in cases if on_target(case)]
        self.assertGreaterEqual(len(chosen), least)
        for target in peers.TARGETS:
            self.assertEqual(peers.wrong_on_target(chosen, target), [])

    def check_operator(self, op):
        cases = bounded(random_cases(op))
        self.assertGreater(len(cases), 65)
        self.check(cases, lambda case: case.name.endswith(("4", "weights_0", "weights_3")))

    def test_lstm(self):
        self.check_operator("LSTM")

    def test_gru(self):
        self.check_operator("GRU")

    def test_rnn(self):
        self.check_operator("RNN")

    def test_batch_first(self):
        cases = bounded(recurrent_case("%s_%d" % (op, i), op) for op in GATES for i in range(4))
        self.check([batch_first(case) for case in cases], lambda case: "_0_" in case.name)

    def test_dtypes(self):
        for dtype, rtol, atol in ((np.float16, 0.02, 0.002), (ml_dtypes.bfloat16, 0.02, 0.002),
                                  (np.float64, 1e-4, 1e-5)):
            cases = bounded(recurrent_case("%s_%d" % (op, i), op) for op in GATES for i in range(3))
            self.check([in_dtype(case, dtype, rtol, atol) for case in cases],
                       lambda case: "_0_" in case.name and "bfloat16" not in case.name,
                       0 if dtype == ml_dtypes.bfloat16 else 3)

    def test_outputs_that_are_not_wanted(self):
        cases = []
        for kept in ((0,), (1,), (2,), (0, 2), (1, 2)):
            case = recurrent_case("LSTM_%s" % "".join(map(str, kept)), "LSTM", steps=3)
            node = case.model.graph.node[0]
            for i in range(3):
                node.output[i] = "out%d" % i if i in kept else ""
            outputs = [case.model.graph.output[i] for i in kept]
            del case.model.graph.output[:]
            case.model.graph.output.extend(outputs)
            cases.append(case)
        self.check(bounded(cases))

    def test_steps_share_their_kernels(self):
        for op, launches in (("RNN", 1), ("GRU", 3), ("LSTM", 3)):
            for hidden in (16, 5):
                case = recurrent_case(op, op, steps=24, batch=1, hidden=hidden, plain=True)
                case = bake(case, {"in1", "in2"})
                cases, _ = peers.refer([case])
                self.assertEqual(peers.wrong_on_target(cases, "llvm"), [])
                with tempfile.TemporaryDirectory() as folder:
                    path = os.path.join(folder, "m.onnx")
                    onnx.save(case.model, path)
                    done = e2e.camshaft("compile", path, "--target", "llvm", "--json", "-o",
                                        os.path.join(folder, "m.plan"))
                    target = json.loads(done.stdout)["targets"][0]
                self.assertLess(target["kernels"], 16)
                self.assertLess(target["launches"], 24 * launches + 10)

    def test_a_wrong_output_is_seen(self):
        cases, _ = peers.refer([recurrent_case("LSTM", "LSTM", plain=True)])
        cases[0].outputs[2] += 1e-3
        self.assertEqual(len(peers.wrong_on_oracle(cases)), 1)


if __name__ == "__main__":
    unittest.main()
