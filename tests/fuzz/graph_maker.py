# SPDX-License-Identifier: MIT
"""Random small ONNX graphs, one operator after the other.

A recipe is a seed and a list of operator names (those of graph_ops.OPERATORS). Each operator takes a
value that is there already, makes the further operands that it needs, and adds its outputs to the
values. What it chooses depends on the seed, its name and how often the name came before, and on
nothing else, so that a recipe still means the same when operators are added to the table or taken out
of the recipe.
"""

import zlib
from dataclasses import dataclass, field

import ml_dtypes
import numpy as np
import onnx
from onnx import helper, numpy_helper, shape_inference

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
FLOATS = tuple(np.dtype(t) for t in ("float32", "float64", "float16")) + (BFLOAT16,)
SIGNED = tuple(np.dtype("int%d" % bits) for bits in (8, 16, 32, 64))
UNSIGNED = tuple(np.dtype("uint%d" % bits) for bits in (8, 16, 32, 64))
INTEGERS = SIGNED + UNSIGNED
BOOL = np.dtype(bool)
# How often each kind of dtype begins a graph.
FIRST_DTYPES = (FLOATS[0],) * 12 + FLOATS[1:] + (np.dtype("int32"), np.dtype("int64")) + (
    SIGNED[:2] + UNSIGNED) + (BOOL,)
OPSET = 23
MAX_ELEMENTS = 30000
MAX_MAGNITUDE = 1e4
EXTENTS = (1, 1, 2, 2, 3, 3, 4, 5, 5, 7, 8, 8, 9, 13, 16, 17, 31)


class Unfit(Exception):
    """The operator does not take this value."""


@dataclass
class Value:
    """A tensor of the graph. `exact`: every implementation has the same bits, so that comparing or
    rounding it is no matter of luck. `magnitude`: about the largest absolute value. `is_last`: no
    operator reads it."""

    name: str
    dtype: np.dtype
    shape: tuple
    exact: bool = True
    magnitude: float = 3.0
    is_last: bool = False

    @property
    def rank(self):
        return len(self.shape)

    @property
    def is_float(self):
        return self.dtype in FLOATS

    @property
    def is_int(self):
        return self.dtype in INTEGERS


@dataclass
class Graph:
    """What a recipe makes: nodes, constants, inputs with their data, and all values."""

    prefix: str
    nodes: list = field(default_factory=list)
    constants: dict = field(default_factory=dict)  # name -> TensorProto
    inputs: dict = field(default_factory=dict)  # name -> array
    values: list = field(default_factory=list)
    used: set = field(default_factory=set)  # names that a node reads

    def outputs(self):
        """The values that no node reads."""
        made = {name for node in self.nodes for name in node.output}
        return [v for v in self.values if v.name in made and v.name not in self.used]


class Maker:
    """Builds one graph. Operators draw from `rng`, which is theirs alone."""

    def __init__(self, prefix=""):
        self.graph = Graph(prefix)
        self.rng = None
        self._count = 0

    # --- Numbers ---------------------------------------------------------------------------------

    def chance(self, probability):
        return self.rng.random() < probability

    def choose(self, options):
        return options[int(self.rng.integers(len(options)))]

    def between(self, low, high):
        """An integer in [low, high]."""
        return int(self.rng.integers(low, high + 1))

    def some_shape(self, rank=None):
        """A shape of a few thousand elements at most."""
        rank = self.choose((1, 2, 2, 3, 3, 4, 4, 4)) if rank is None else rank
        while True:
            shape = tuple(self.choose(EXTENTS) for _ in range(rank))
            if np.prod(shape) <= 3000:
                return shape

    def array(self, dtype, shape, low=-3.0, high=3.0):
        """Random data: floats in [low, high] with some round ones, integers with their limits."""
        if dtype == BOOL:
            return self.rng.random(shape) < 0.5
        if dtype in INTEGERS:
            return self._integers(dtype, shape)
        data = self.rng.uniform(low, high, shape)
        if low < 0 and self.chance(0.2):  # zeros of both signs, ties; no denormals: kernels flush them
            special = np.array([0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 1.5, 2.5])
            data = np.where(self.rng.random(shape) < 0.2, self.rng.choice(special, shape), data)
        return np.asarray(data).astype(dtype)

    def _integers(self, dtype, shape):
        limits = np.iinfo(dtype)
        low, high = (0, 20) if dtype in UNSIGNED else (-10, 10)
        if self.chance(0.3):
            low, high = limits.min, limits.max
        data = self.rng.integers(low, high, shape, dtype, endpoint=True)
        if self.chance(0.3):
            special = np.array([limits.min, limits.max, 0, 1], dtype)
            data = np.where(self.rng.random(shape) < 0.2, self.rng.choice(special, shape), data)
        return np.asarray(data, dtype)

    # --- Values ----------------------------------------------------------------------------------

    def name(self, kind):
        self._count += 1
        return "%s%s%d" % (self.graph.prefix, kind, self._count)

    def constant(self, array):
        """A weight."""
        array = np.asarray(array)
        name = self.name("w")
        self.graph.constants[name] = numpy_helper.from_array(array, name)
        return Value(name, array.dtype, array.shape, True, magnitude_of(array))

    def input(self, array):
        """A graph input."""
        array = np.asarray(array)
        name = self.name("x")
        self.graph.inputs[name] = array
        value = Value(name, array.dtype, array.shape, True, magnitude_of(array))
        self.graph.values.append(value)
        return value

    def operand(self, dtype, shape, low=-3.0, high=3.0):
        """A further operand: an input or a weight."""
        data = self.array(dtype, shape, low, high)
        return self.input(data) if self.chance(0.4) else self.constant(data)

    def ints(self, *values):
        """A constant list: axes, a shape."""
        return self.constant(np.array(values, np.int64))

    def pick(self, accept):
        """A value for which `accept` holds, more often a late one; a new input if there is none and
        the graph is still empty."""
        fit = [v for v in self.graph.values if not v.is_last and accept(v)]
        if not fit:
            raise Unfit
        return fit[-1] if self.chance(0.6) else self.choose(fit)

    def node(self, op_type, inputs, exact=None, magnitude=None, outputs=1, **attributes):
        """Adds a node; its first output, or all if there are several. By default the result is as
        exact and as large as the operands."""
        names = ["" if value is None else value.name for value in inputs]
        made = [self.name("v") for _ in range(outputs)]
        node = helper.make_node(op_type, names, made, **attributes)
        types = infer_types(node, inputs, self.graph.constants)
        given = [v for v in inputs if v is not None]
        exact = all(v.exact for v in given) if exact is None else exact
        magnitude = max(v.magnitude for v in given) if magnitude is None else magnitude
        values = [Value(name, *types[name], exact, magnitude) for name in made if name in types]
        if len(values) != outputs or magnitude > MAX_MAGNITUDE or any(
                np.prod(v.shape) > MAX_ELEMENTS for v in values):
            raise Unfit
        return self._add(node, values)

    def node_of(self, op_type, inputs, types, exact=False, magnitude=3.0, **attributes):
        """Adds a node whose outputs' types are given: (dtype, shape) each, with None for a shape
        that depends on data. Such a value must be read by other nodes: it never becomes an output."""
        names = ["" if value is None else value.name for value in inputs]
        values = [Value(self.name("v"), dtype, shape, exact, magnitude) for dtype, shape in types]
        if magnitude > MAX_MAGNITUDE or any(
                v.shape is not None and np.prod(v.shape) > MAX_ELEMENTS for v in values):
            raise Unfit
        return self._add(helper.make_node(op_type, names, [v.name for v in values], **attributes),
                         values)

    def _add(self, node, values):
        self.graph.nodes.append(node)
        self.graph.used.update(names_read(node))
        self.graph.values += [v for v in values if v.shape is not None]
        return values[0] if len(values) == 1 else values

    def subgraph(self, arguments, body):
        """A GraphProto: `body` is called with a value for each (dtype, shape) and returns those
        that the graph gives out. Its nodes read values of the outer graph by their names; constants
        and inputs that it makes belong to the outer graph."""
        outer = self.graph
        formal = [Value(self.name("a"), dtype, shape) for dtype, shape in arguments]
        self.graph = Graph(outer.prefix, [], outer.constants, outer.inputs, list(formal))
        try:
            results = body(*formal)
            nodes = self.graph.nodes
        finally:
            self.graph = outer
        return helper.make_graph(nodes, self.name("g"), [info_of(v) for v in formal],
                                 [info_of(v) for v in results])


def info_of(value):
    """What a graph declares of an input or output."""
    return helper.make_tensor_value_info(
        value.name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)


def names_read(node):
    """The names that a node reads, those that its subgraphs take from outside included."""
    names = {name for name in node.input if name}
    for attribute in node.attribute:
        if attribute.HasField("g"):
            inner = attribute.g
            own = {i.name for i in inner.input}.union(*(n.output for n in inner.node))
            names |= set().union(*map(names_read, inner.node), (o.name for o in inner.output)) - own
    return names


def magnitude_of(array):
    """The largest absolute value; that of integers does not matter."""
    if array.dtype not in FLOATS or array.size == 0:
        return 1.0
    return float(np.abs(array.astype(np.float64)).max())


def infer_types(node, inputs, constants):
    """{output: (dtype, shape)}, as far as the onnx package knows. Unfit where the operator does not
    take the operands' types."""
    schema = onnx.defs.get_schema(node.op_type, OPSET)
    types, data = {}, {}
    for i, value in enumerate(inputs):
        if value is None:
            continue
        parameter = schema.inputs[min(i, len(schema.inputs) - 1)]
        if "tensor(%s)" % type_name(value.dtype) not in parameter.types:
            raise Unfit
        element = helper.np_dtype_to_tensor_dtype(value.dtype)
        types[value.name] = helper.make_tensor_type_proto(element, value.shape)
        if value.name in constants:
            data[value.name] = constants[value.name]
    try:
        inferred = shape_inference.infer_node_outputs(
            schema, node, types, data, opset_imports=[helper.make_opsetid("", OPSET)])
    except shape_inference.InferenceError as error:
        raise Unfit from error
    result = {}
    for name, kind in inferred.items():
        dims = kind.tensor_type.shape.dim
        if kind.tensor_type.HasField("shape") and all(d.HasField("dim_value") for d in dims):
            result[name] = (np.dtype(helper.tensor_dtype_to_np_dtype(kind.tensor_type.elem_type)),
                            tuple(d.dim_value for d in dims))
    return result


def type_name(dtype):
    """A dtype as operator schemas write it."""
    return {"float32": "float", "float64": "double"}.get(dtype.name, dtype.name)


def random_for(seed, name, number):
    """The random numbers of one step of a recipe."""
    return np.random.default_rng([seed, zlib.crc32(name.encode()), number])


def make_graph(recipe, operators, prefix=""):
    """The graph of a recipe: (seed, names of operators). Steps that do not fit are left out."""
    seed, names = recipe
    maker = Maker(prefix)
    maker.rng = random_for(seed, "begin", 0)
    for _ in range(maker.between(1, 2)):
        dtype = maker.choose(FIRST_DTYPES)
        maker.input(maker.array(dtype, maker.some_shape()))
    counts = {}
    for name in names:
        counts[name] = counts.get(name, 0) + 1
        maker.rng = random_for(seed, name, counts[name])
        before = (len(maker.graph.nodes), len(maker.graph.values), set(maker.graph.used),
                  dict(maker.graph.inputs))
        try:
            operators[name](maker)
        except Unfit:
            nodes, values, maker.graph.used, maker.graph.inputs = before
            del maker.graph.nodes[nodes:]
            del maker.graph.values[values:]
    return maker.graph


def only_for(graph, value):
    """The part of a graph that computes one of its values."""
    wanted, nodes = {value.name}, []
    for node in reversed(graph.nodes):
        if wanted.intersection(node.output):
            nodes.insert(0, node)
            wanted.update(names_read(node))
    inputs = {n: a for n, a in graph.inputs.items() if n in wanted}
    used = set().union(*map(names_read, nodes))
    made = {n for node in nodes for n in node.output}
    return Graph(graph.prefix, nodes, graph.constants, inputs,
                 [v for v in graph.values if v.name in made], used)


def to_model(graphs):
    """One model that computes several graphs side by side, whose names must differ."""
    nodes = [node for graph in graphs for node in graph.nodes]
    read = set().union(*map(names_read, nodes))
    proto = helper.make_graph(
        nodes, "fuzz",
        [info_of(Value(n, a.dtype, a.shape)) for g in graphs for n, a in g.inputs.items()],
        [info_of(v) for g in graphs for v in g.outputs()],
        [t for g in graphs for n, t in g.constants.items() if n in read])
    return helper.make_model(proto, ir_version=10, opset_imports=[helper.make_opsetid("", OPSET)])
