# SPDX-License-Identifier: MIT
"""Real networks of others: Camshaft gives what onnxruntime gives, and what compiling costs.

On `llvm`; in the long tests on `cpu` too. Run alone, it prints a table.
"""

import os
import resource
import subprocess
import sys
import tempfile
import unittest

import networks
import numpy as np
import onnx
import onnxruntime
from e2e import CAMSHAFT, LONG, camshaft
from onnx import numpy_helper

RTOL, ATOL = 1e-3, 1e-4
TARGETS = ("llvm", "cpu") if LONG else ("llvm",)
BEST_BOXES = 20
MIB = 1 << 20
MEMORY_LIMIT = 500 * MIB  # and four times the weights
# Two cores for a minute. Time on a core, so that other work on the machine changes nothing.
CPU_SECONDS_LIMIT = 120


def with_frozen(path, frozen, folder):
    """The model with some inputs fixed; the path of the new file."""
    if not frozen:
        return path
    model = onnx.load(path)
    inputs = [i for i in model.graph.input if i.name not in frozen]
    del model.graph.input[:]
    model.graph.input.extend(inputs)
    model.graph.initializer.extend(numpy_helper.from_array(v, n) for n, v in frozen.items())
    fixed = os.path.join(folder, "fixed.onnx")
    onnx.save(model, fixed)
    return fixed


# Runs a command and appends what it took. A process of its own, since the peak memory of a child
# counts from before it becomes the command, when it is as large as its parent.
MEASURE = """
import os, subprocess, sys
child = subprocess.Popen(sys.argv[1:])
_, status, usage = os.wait4(child.pid, 0)
print("\\n%f %d" % (usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024))
sys.exit(os.waitstatus_to_exitcode(status))
"""


def measured(command):
    """Runs a command: (the finished process, seconds on a core, peak memory in bytes)."""
    done = subprocess.run([sys.executable, "-S", "-c", MEASURE, *command], text=True, check=False,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    done.stdout, _, cost = done.stdout.rstrip().rpartition("\n")
    seconds, memory = cost.split()
    return done, float(seconds), int(memory)


def reference_session(path):
    """onnxruntime on one thread."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def trimmed(arrays, name, shape):
    """An output without what pads it to a bound. Where extents depend on data, NAME.count holds
    them, for the axes that differ from the expected shape and perhaps others."""
    array = arrays[name]
    if name + ".count" not in arrays.files:
        return array
    counts = arrays[name + ".count"].tolist()
    axes = [i for i in range(array.ndim) if array.shape[i] != shape[i]]
    if len(counts) == len(axes):
        array = array[tuple(slice(counts[axes.index(i)]) if i in axes else slice(None)
                            for i in range(array.ndim))]
    return array


class RealNetworks(unittest.TestCase):
    targets = TARGETS
    options = ()  # of compiling
    limits_cost = True  # whether the compiler's time and memory are held against limits

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def compile(self, network, target):
        """Compiles, holds the cost against the limits, and prints a row of the table."""
        plan = os.path.join(self.folder, target + ".plan")
        shapes = ["%s=%s" % (name, "x".join(map(str, value.shape)))
                  for name, value in network.inputs.items() if value.ndim]
        options = [word for shape in shapes for word in ("--shape", shape)]
        model = with_frozen(network.path, network.frozen, self.folder)
        done, seconds, memory = measured(
            [CAMSHAFT, "compile", model, "--target", target, "-o", plan, *options, *self.options])
        self.assertEqual(done.returncode, 0, done.stdout[-3000:])
        weights = networks.weight_bytes(network.path)
        print("%-34s %-4s %6.1f s %7.0f MiB of %7.0f MiB" % (
            network.name, target, seconds, memory / MIB, (4 * weights + MEMORY_LIMIT) / MIB))
        if self.limits_cost:
            self.assertLess(memory, 4 * weights + MEMORY_LIMIT)
            self.assertLess(seconds, CPU_SECONDS_LIMIT)
        return plan

    def run_plan(self, plan, inputs, expected):
        """Outputs by number; `expected` holds what they should be, by name."""
        given, made = (os.path.join(self.folder, f) for f in ("in.npz", "out.npz"))
        np.savez(given, **inputs)
        done = camshaft("run", plan, "--input", given, "--output", made)
        self.assertEqual(done.returncode, 0, done.stderr)
        with np.load(made) as arrays:
            return [trimmed(arrays, name, value.shape) for name, value in expected.items()]

    def check(self, network):
        if not network.exists():
            self.skipTest(network.path + " is not on this machine")
        session = reference_session(network.path)
        names = [o.name for o in session.get_outputs()]
        for target in self.targets:
            plan = self.compile(network, target)
            inputs = dict(network.inputs)
            for step in range(network.steps):
                inputs.update({n: rows[step] for n, rows in network.windows.items()})
                expected = dict(zip(names, session.run(None, {**inputs, **network.frozen})))
                actual = self.run_plan(plan, inputs, expected)
                self.compare(network, expected, actual)
                inputs.update({n: actual[i] for n, i in network.feedback.items()})

    def compare_detections(self, expected, actual):
        """Each detection must be among the actual ones, with all that is said of it."""
        left = list(range(len(actual[0])))
        for row in range(len(next(iter(expected.values())))):
            match = [i for i in left if all(
                np.allclose(got[i], wanted[row], RTOL, ATOL)
                for wanted, got in zip(expected.values(), actual))]
            self.assertTrue(match, "detection %d is missing" % row)
            left.remove(match[0])
        self.assertEqual(left, [])

    def compare(self, network, expected, actual):
        if network.has_detections:
            self.compare_detections(expected, actual)
            return
        for i, ((name, wanted), got) in enumerate(zip(expected.items(), actual)):
            self.assertEqual((got.dtype, got.shape), (wanted.dtype, wanted.shape), name)
            np.testing.assert_allclose(got, wanted, RTOL, ATOL, err_msg=name)
            if i in network.classes:
                axis = network.classes[i]
                np.testing.assert_array_equal(got.argmax(axis), wanted.argmax(axis), name)
            if i in network.boxes:
                self.assertEqual(self.best_boxes(got, network.boxes[i]),
                                 self.best_boxes(wanted, network.boxes[i]), name)

    def test_a_wrong_detection_is_seen(self):
        expected = {"boxes": np.float32([[0, 0, 4, 4], [1, 1, 5, 5]]), "scores": np.float32([1, 1]),
                    "classes": np.int64([3, 7])}
        swapped = [array[::-1] for array in expected.values()]
        self.compare_detections(expected, swapped)
        for i in range(len(swapped)):
            wrong = [array.copy() for array in swapped]
            wrong[i][0] += 1
            with self.assertRaisesRegex(AssertionError, "detection 1 is missing"):
                self.compare_detections(expected, wrong)
        with self.assertRaises(AssertionError):
            self.compare_detections(expected, [np.concatenate([a, a[:1]]) for a in swapped])

    @staticmethod
    def best_boxes(output, rows):
        """(box, class) of the best scores, in order."""
        scores = output[0][rows]
        order = np.argsort(-scores.max(0), kind="stable")[:BEST_BOXES]
        return [(int(box), int(scores[:, box].argmax())) for box in order]


def add_network(network):
    def test(self):
        self.check(network)

    setattr(RealNetworks, "test_" + network.name, test)


for _network in networks.all_networks():
    add_network(_network)

if __name__ == "__main__":
    unittest.main()
