# SPDX-License-Identifier: MIT
"""Plans from Python: camshaft.Session."""

import gc
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest

import numpy as np
from onnx import TensorProto, helper

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
sys.path[:0] = [os.path.join(ROOT, "tools/python"), os.path.join(ROOT, "tests/support"),
                os.path.join(ROOT, "tests/e2e")]

import command_models as models  # noqa: E402
import e2e  # noqa: E402

# A Python that was not built with a sanitizer can't load a library that was.
CHECKED = "sanitize-" in os.environ.get("CAMSHAFT_BUILD", "")

if not CHECKED:
    import camshaft
    from camshaft import Code, Error


def save(path, nodes, inputs, outputs, initializers=(), metadata=None):
    """A model of values {name: (dtype, shape)}."""
    def infos(values):
        return [helper.make_tensor_value_info(n, *value) for n, value in values.items()]

    graph = helper.make_graph(nodes, "test", infos(inputs), infos(outputs), list(initializers))
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    helper.set_model_props(model, metadata or {})
    with open(path, "wb") as f:
        f.write(model.SerializeToString())


@unittest.skipIf(CHECKED, "the library has a sanitizer")
class Sessions(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        cls.weights = models.make_dense(cls.path("dense.onnx"))
        cls.dense = cls.compile("dense")

    @classmethod
    def path(cls, name):
        return os.path.join(cls.folder, name)

    @classmethod
    def compile(cls, name, *options):
        plan = cls.path(name + ".plan")
        done = e2e.camshaft("compile", cls.path(name + ".onnx"), "-o", plan, *options)
        assert done.returncode == 0, done.stderr
        return plan

    def expected(self, x):
        return np.maximum(x @ self.weights["w"] + self.weights["b"], 0)

    def refused(self, code, text, call):
        with self.assertRaises(Error) as refusal:
            call()
        self.assertIn(text, str(refusal.exception))
        self.assertEqual(refusal.exception.code, code)

    def test_arrays_go_in_and_come_out(self):
        x = np.random.default_rng(1).standard_normal((3, 8)).astype(np.float32)
        with camshaft.Session(self.dense, threads=1) as session:
            self.assertEqual([(t.name, t.dtype, t.shape) for t in session.inputs.values()],
                             [("x", np.float32, (3, 8))])
            self.assertEqual([(t.name, t.dtype, t.shape) for t in session.outputs.values()],
                             [("y", np.float32, (3, 5))])
            first = session.run({"x": x})["y"]
            np.testing.assert_allclose(first, self.expected(x), rtol=1e-5, atol=1e-5)
            # Arrays of any strides; and the caller's own results stay as they are.
            kept = first.copy()
            np.testing.assert_allclose(session.run({"x": -x[::-1]})["y"], self.expected(-x[::-1]),
                                       rtol=1e-5, atol=1e-5)
            np.testing.assert_array_equal(first, kept)
            first[0, 0] = 5  # the caller's own

    def test_nothing_need_be_copied(self):
        with camshaft.Session(self.dense) as session:
            x = session.input("x")
            x[:] = 0.5
            y = session.run({}, copy=False)["y"]
            np.testing.assert_allclose(y, self.expected(np.full((3, 8), 0.5, np.float32)),
                                       rtol=1e-5, atol=1e-5)
            self.assertFalse(y.flags.writeable)
            x[:] = -1
            again = session.run({}, copy=False)["y"]
            self.assertTrue(np.shares_memory(y, again))
            self.assertFalse(np.shares_memory(again, session.run({})["y"]))
            self.assertTrue(np.shares_memory(x, session.input("x")))

    def test_views_outlive_the_session(self):
        session = camshaft.Session(self.dense)
        x = session.input("x")
        x[:] = 0.5
        y = session.run({}, copy=False)["y"]
        kept = y.copy()
        session.close()
        session.close()
        del session
        gc.collect()
        x[:] = 1  # memory that is still there
        np.testing.assert_array_equal(y, kept)

    def test_a_closed_session_says_so(self):
        with camshaft.Session(self.dense) as session:
            pass
        x = np.zeros((3, 8), np.float32)
        for call in (lambda: session.run({"x": x}), lambda: session.input("x"),
                     session.reset_states):
            self.refused(Code.INVALID_ARGUMENT, "this Session is closed", call)
        self.assertEqual(session.inputs["x"].shape, (3, 8))

    def test_wrong_inputs_are_refused_by_name(self):
        x = np.zeros((3, 8), np.float32)
        with camshaft.Session(self.dense) as session:
            for inputs, text in (
                    ({}, "run() lacks the inputs: x"),
                    ({"x": x.astype(np.float64)}, "'x'"),
                    ({"x": x.T}, "'x'"),
                    ({"x": x[:2]}, "'x'"),
                    ({"x": [1.0, 2.0]}, "'x'"),
                    ({"x": x.astype(">f4")}, "input 'x': a plan has no tensors of numpy's >f4"),
                    ({"x": x.astype(np.complex64)}, "complex64"),
                    ({"x": np.array(["a"])}, "'x': a plan has no tensors"),
                    ({"x": None}, "'x': a plan has no tensors"),
                    ({"x": x, "z": x}, "the plan has no input 'z'; it has: x"),
                    ({"x": x, 3: x}, "inputs go by their names, not 3")):
                with self.subTest(text):
                    self.refused(Code.INVALID_ARGUMENT, text, lambda i=inputs: session.run(i))
            self.refused(Code.INVALID_ARGUMENT, "'z'", lambda: session.input("z"))
            np.testing.assert_allclose(session.run({"x": x})["y"], self.expected(x), atol=1e-6)

    def test_wrong_plans_and_devices_are_refused(self):
        none, damaged = self.path("none.plan"), self.path("damaged.plan")
        with open(self.dense, "rb") as f:
            data = bytearray(f.read())
        data[-70] ^= 1
        with open(damaged, "wb") as f:
            f.write(data)
        self.refused(Code.NOT_FOUND, none, lambda: camshaft.Session(none))
        self.refused(Code.CORRUPT, "damaged", lambda: camshaft.Session(damaged))
        self.refused(Code.INVALID_ARGUMENT, "there is no backend 'cuda'",
                     lambda: camshaft.Session(self.dense, device="cuda"))
        self.refused(Code.INVALID_ARGUMENT, "the plan has no target 'opencl'",
                     lambda: camshaft.Session(self.dense, target="opencl"))
        for threads in (0, -1, "2", 2.5, True):
            self.refused(Code.INVALID_ARGUMENT, "threads must be a number from 1 on",
                         lambda t=threads: camshaft.Session(self.dense, threads=t))
        self.refused(Code.INVALID_ARGUMENT, "a public key has 32 bytes",
                     lambda: camshaft.Session(self.dense, public_key=b"short"))
        with self.assertRaises(Error):  # the plan isn't signed
            camshaft.Session(self.dense, public_key=bytes(32))

    def test_types_and_scalars(self):
        shapes = {"i64": TensorProto.INT64, "u8": TensorProto.UINT8, "f16": TensorProto.FLOAT16,
                  "b": TensorProto.BOOL, "f64": TensorProto.DOUBLE, "bf16": TensorProto.BFLOAT16}
        nodes = [helper.make_node("Identity", [name], [name + "_out"]) for name in shapes]
        nodes.append(helper.make_node("Identity", ["scalar"], ["scalar_out"]))
        values = {name: (kind, [2, 3]) for name, kind in shapes.items()}
        values["scalar"] = (TensorProto.FLOAT, [])
        save(self.path("types.onnx"), nodes, values, {n + "_out": v for n, v in values.items()})
        with camshaft.Session(self.compile("types")) as session:
            inputs = {t.name: np.arange(6).reshape(2, 3).astype(t.dtype) if t.shape else
                      np.array(2.5, t.dtype) for t in session.inputs.values()}
            for name, array in session.run(inputs).items():
                given = inputs[name[:-len("_out")]]
                self.assertEqual(array.dtype, given.dtype)
                self.assertEqual(array.shape, given.shape)
                self.assertEqual(array.tobytes(), given.tobytes())

    def test_outputs_are_as_long_as_their_data_says(self):
        save(self.path("dynamic.onnx"), [helper.make_node("NonZero", ["x"], ["y"])],
             {"x": (TensorProto.FLOAT, [2, 3])}, {"y": (TensorProto.INT64, [2, None])})
        with camshaft.Session(self.compile("dynamic")) as session:
            self.assertEqual(session.outputs["y"].shape, (2, 6))
            for x in ([[1, 0, 2], [0, 0, 3]], [[0, 0, 0]] * 2, [[1, 1, 1]] * 2):
                x = np.array(x, np.float32)
                for copy in (True, False):
                    np.testing.assert_array_equal(session.run({"x": x}, copy=copy)["y"],
                                                  np.array(np.nonzero(x)))

    def test_a_run_above_its_bound_fails_and_leaves_no_outputs(self):
        save(self.path("bound.onnx"), [helper.make_node("NonZero", ["x"], ["y"], name="nonzero")],
             {"x": (TensorProto.FLOAT, [2, 3])}, {"y": (TensorProto.INT64, [2, None])})
        with camshaft.Session(self.compile("bound", "--bound", "nonzero=2")) as session:
            few = np.array([[1, 0, 0], [0, 0, 1]], np.float32)
            self.assertEqual(session.run({"x": few})["y"].shape, (2, 2))
            with self.assertRaises(Error) as refusal:
                session.run({"x": np.ones((2, 3), np.float32)})
            self.assertEqual(refusal.exception.code, Code.BOUND_EXCEEDED)
            self.assertEqual(session.run({"x": few})["y"].shape, (2, 2))

    def test_slices_have_names(self):
        slices = [{"name": "left", "offset": 1, "shape": [2], "unit": "m"},
                  {"name": "right", "offset": 4, "shape": [1, 2]}]
        save(self.path("slices.onnx"), [helper.make_node("Neg", ["x"], ["y"])],
             {"x": (TensorProto.FLOAT, [2, 3])}, {"y": (TensorProto.FLOAT, [2, 3])},
             metadata={"camshaft.output_slices": json.dumps(slices)})
        with camshaft.Session(self.compile("slices")) as session:
            y = session.run({"x": -np.arange(6, dtype=np.float32).reshape(2, 3)})["y"]
            parts = session.outputs["y"].slices
            self.assertEqual({n: s.unit for n, s in parts.items()}, {"left": "m", "right": ""})
            np.testing.assert_array_equal(parts["left"].of(y), [1, 2])
            np.testing.assert_array_equal(parts["right"].of(y), [[4, 5]])

    def test_threads_take_turns(self):
        wrong = []
        with camshaft.Session(self.dense, threads=2) as session:
            def work(seed):
                x = np.random.default_rng(seed).standard_normal((3, 8)).astype(np.float32)
                for _ in range(50):
                    if not np.allclose(session.run({"x": x})["y"], self.expected(x), atol=1e-4):
                        wrong.append(seed)

            workers = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
            for worker in workers:
                worker.start()
            for worker in workers:
                worker.join()
        self.assertEqual(wrong, [])

    def test_the_folder_and_the_library_are_all_it_takes(self):
        place = self.path("elsewhere")
        shutil.copytree(os.path.join(ROOT, "tools/python/camshaft"), place + "/camshaft")
        program = ("import camshaft, numpy, sys\n"
                   "with camshaft.Session(sys.argv[1]) as session:\n"
                   "    x = session.inputs['x']\n"
                   "    y = session.run({'x': numpy.zeros(x.shape, x.dtype)})['y']\n"
                   "print(camshaft.__file__, *y.shape)\n")
        environment = {"PATH": os.environ["PATH"], "PYTHONPATH": place,
                       "CAMSHAFT_LIBRARY": os.path.join(e2e.BUILD, "libcamshaft.so")}
        run = [sys.executable, "-c", program, self.dense]
        done = subprocess.run(run, env=environment, capture_output=True, text=True)
        self.assertEqual(done.stdout, place + "/camshaft/__init__.py 3 5\n", done.stderr)
        environment["CAMSHAFT_LIBRARY"] = self.path("none.so")
        done = subprocess.run(run, env=environment, capture_output=True, text=True)
        self.assertIn("ImportError: no " + self.path("none.so"), done.stderr)

    def test_messages_need_no_runtime(self):
        self.assertIs(camshaft.Session, sys.modules["camshaft.session"].Session)
        with self.assertRaises(AttributeError):
            camshaft.Sessions  # pylint: disable=no-member,pointless-statement


if __name__ == "__main__":
    unittest.main()
