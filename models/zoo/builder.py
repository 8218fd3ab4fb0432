# SPDX-License-Identifier: MIT
"""Builds an ONNX graph node by node, with seeded weights.

Beside each value travels an estimate of the mean and variance of every channel, from which weights
and batch-norm statistics are chosen so that activations stay of order one at any depth, as they do
in a trained network. The estimate is arithmetic on the weights alone: nothing is run, and the bytes
of a model depend only on its name, opset and seed.
"""

import zlib
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

IR_VERSION_OF_OPSET = {9: 4, 17: 8}

# A grid under the normal density: expectations of functions of one normal variable.
_GRID = np.linspace(-6.0, 6.0, 241)
_DENSITY = np.exp(-0.5 * _GRID**2)
_DENSITY /= _DENSITY.sum()


def rounded(values):
    """Values whose last bits do not depend on the machine's own exp or dot product."""
    return np.round(np.asarray(values, np.float64), 5)


@dataclass(frozen=True)
class Value:
    """A tensor of the graph: its name, and the estimated moments of each channel."""

    name: str
    mean: np.ndarray
    var: np.ndarray

    @property
    def channels(self):
        return self.mean.size

    def mapped(self, name, function):
        """The value after an elementwise function, taking each channel for normal."""
        samples = function(self.mean[:, None] + np.sqrt(self.var)[:, None] * _GRID)
        mean = samples @ _DENSITY
        return Value(name, mean, np.square(samples - mean[:, None]) @ _DENSITY)


class Builder:
    """One ONNX graph in the making. Names follow the modules, as exporters write them."""

    def __init__(self, name, opset, seed):
        if opset not in IR_VERSION_OF_OPSET:
            raise ValueError("opset %d: the zoo knows %s" % (opset, sorted(IR_VERSION_OF_OPSET)))
        self.name, self.opset, self._seed = name, opset, seed
        self._scope, self._nodes, self._initializers = [], [], []
        self._inputs, self._outputs, self._renamed = [], [], {}
        self._names, self._shared = set(), set()

    @contextmanager
    def scope(self, name):
        """Prefixes the names made inside with a module's name."""
        self._scope.append(name)
        yield
        self._scope.pop()

    def path(self, name):
        """A name inside the current scope."""
        return ".".join(self._scope + [name])

    def random(self, name, shape):
        """Standard normal numbers that depend on the seed and the name only."""
        key = [self._seed, zlib.crc32((self.name + "/" + self.path(name)).encode())]
        return np.random.default_rng(key).standard_normal(shape)

    def constant(self, name, array, dtype=np.float32):
        """An initializer; returns its name."""
        full = self.path(name)
        self._initializers.append(numpy_helper.from_array(np.asarray(array, dtype), full))
        return full

    def shared(self, name, array, dtype=np.float32):
        """An initializer outside of any scope, made once."""
        if name not in self._shared:
            self._shared.add(name)
            self._initializers.append(numpy_helper.from_array(np.asarray(array, dtype), name))
        return name

    def node(self, op, inputs, name=None, **attributes):
        """Appends a node with one output; returns the name of the output."""
        return self.nodes(op, inputs, 1, name, **attributes)[0]

    def nodes(self, op, inputs, count, name=None, **attributes):
        """Appends a node with `count` outputs; returns their names."""
        path = self.path(name or op)
        label, number = path, 1
        while label in self._names:
            label, number = "%s_%d" % (path, number), number + 1
        self._names.add(label)
        outputs = ["/%s_output_%d" % (label, i) for i in range(count)]
        self._nodes.append(helper.make_node(op, inputs, outputs, name="/" + label, **attributes))
        return outputs

    def input(self, name, shape):
        """A float32 graph input of zero mean and unit variance; text in `shape` is a free size."""
        self._inputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, shape))
        channels = shape[1] if len(shape) == 4 else shape[-1]
        return Value(name, np.zeros(channels), np.ones(channels))

    def output(self, source, name, shape):
        """Makes the value `source` a float32 graph output."""
        self._renamed[source] = name
        self._outputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, shape))

    def model(self):
        """The checked model."""
        for node in self._nodes:
            for names in (node.input, node.output):
                names[:] = [self._renamed.get(name, name) for name in names]
        graph = helper.make_graph(self._nodes, self.name, self._inputs, self._outputs,
                                  self._initializers)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)],
                                  ir_version=IR_VERSION_OF_OPSET[self.opset],
                                  producer_name="camshaft-zoo")
        onnx.checker.check_model(model, full_check=True)
        return model
