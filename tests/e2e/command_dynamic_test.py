# SPDX-License-Identifier: MIT
"""Extents that depend on data, bounds and frozen inputs, through the command on both targets."""

import json
import os
import unittest

import command_models as models
import e2e
import numpy as np
import onnx
import onnx.parser
from command_models import OUTSIDE, UNSUPPORTED, USAGE
from onnx import TensorProto, helper, numpy_helper

TARGETS = "llvm,cpu"


def make_parsed(path, text, opset=17):
    """A model written in onnx.parser's text."""
    onnx.save(onnx.parser.parse_model('<ir_version: 8, opset_import: ["" : %d]> %s' % (opset, text)),
              path)


def make_detector(path, least="0.5"):
    """Boxes whose score is above `least`: y [n,4], where they are [n], and their number of rows."""
    make_parsed(path, """detector (float[8,4] boxes, float[8] scores) => (float[n,4] y, int64[n] at) {
        least = Constant<value_float=%s>()
        m = Greater(scores, least)
        y = Compress<axis=0>(boxes, m)
        places = NonZero(m)
        axes = Constant<value_ints=[0]>()
        at = Squeeze(places, axes)
    }""" % least)


def make_scaled(path, with_default=False):
    """y = x * gain[mode], of i64 'mode' and f32[2,3] 'gain'; gain may have a default."""
    model = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["" : 17]>
    scaled (float[n,3] x, int64 mode, float[2,3] gain) => (float[n,3] y) {
        row = Gather<axis=0>(gain, mode)
        y = Mul(x, row)
    }""")
    if with_default:
        model.graph.initializer.append(numpy_helper.from_array(np.ones((2, 3), np.float32), "gain"))
    onnx.save(model, path)


class Extents(models.CommandTest):
    def compile_detector(self, *options):
        make_detector(self.path("m.onnx"))
        return self.document("compile", self.path("m.onnx"), "-o", self.path("m.plan"), "--target",
                             TARGETS, *options)

    def write_inputs(self, scores):
        boxes = np.arange(32, dtype=np.float32).reshape(8, 4)
        np.savez(self.path("in.npz"), boxes=boxes, scores=np.float32(scores))
        return boxes

    def test_run_writes_and_shows_what_there_is(self):
        self.compile_detector()
        for scores in ([0.9, 0, 0, 0.8, 0, 0.7, 0, 0], [0] * 8, [1] * 8):
            boxes = self.write_inputs(scores)
            kept = np.nonzero(np.float32(scores) > 0.5)[0]
            for target in TARGETS.split(","):
                run = ["run", self.path("m.plan"), "--input", self.path("in.npz"), "--target", target]
                document = self.document(*run, "--output", self.path("out.npz"))
                with np.load(self.path("out.npz")) as outputs:
                    self.assertEqual(outputs.files, ["y", "at"])
                    np.testing.assert_array_equal(outputs["y"], boxes[kept])
                    np.testing.assert_array_equal(outputs["at"], kept)
                y, at = document["outputs"]
                self.assertEqual((y["shape"], y["bound"], y["counted_axes"]),
                                 ([len(kept), 4], [8, 4], [0]))
                self.assertEqual(at["shape"], [len(kept)])
                self.assertEqual(y["summary"]["elements"], 4 * len(kept))
                page = self.camshaft(*run).stdout
                self.assertIn("f32[%dx4]" % len(kept), page)
                self.assertNotIn("count", page)

    def test_inspect_shows_bounds_and_what_the_further_outputs_are_for(self):
        self.compile_detector("--bound", "y=5", "--bound", "places=6")
        page = self.camshaft("inspect", self.path("m.plan")).stdout
        self.assertRegex(page, r"(?m)^  y +f32 +\[<=5, 4\] ")
        self.assertRegex(page, r"(?m)^  y\.count +i64 +\[1\] .*  how long is y$")
        self.assertRegex(page, r"(?m)^  camshaft.bound_exceeded +bool .*whether a bound was too small, or extents did not fit$")
        self.assertRegex(page, r"(?m)^bounds\n  places +6\n  y +5$")
        document = self.document("inspect", self.path("m.plan"))
        self.assertEqual(document["outputs"][0]["counted_axes"], [0])
        self.assertEqual(document["bounds"], {"y": 5, "places": 6})
        self.assertEqual(document["exceeded_output"], "camshaft.bound_exceeded")
        self.assertEqual([o["name"] for o in document["outputs"]],
                         ["y", "at", "y.count", "at.count", "camshaft.bound_exceeded"])

    def test_compare_cuts_both_sides(self):
        self.compile_detector()
        scores = ["--range", "scores=0:1"]
        for engine in ("onnxruntime", "oracle"):
            for target in TARGETS.split(","):
                document = self.document("compare", self.path("m.plan"), "--ref",
                                         self.path("m.onnx"), "--engine", engine, "--target", target,
                                         *scores)
                self.assertEqual([o["name"] for o in document["outputs"]], ["y", "at"])
                self.assertLess(document["outputs"][0]["elements"], 3 * 32)
                self.assertGreater(document["outputs"][0]["elements"], 0)
        self.camshaft("compare", self.path("m.plan"), "--ref", self.path("m.plan"), *scores)

    def test_another_number_of_rows_is_outside(self):
        self.compile_detector()
        make_detector(self.path("other.onnx"), least="0.9")
        self.write_inputs([1, 1, 0.7, 0, 0, 0, 0, 0])
        document = self.document("compare", self.path("m.plan"), "--ref", self.path("other.onnx"),
                                 "--input", self.path("in.npz"), code=OUTSIDE)
        self.assertEqual(document["outputs"][0]["shapes"], "f32[3x4], expected f32[2x4]")

    def test_a_run_that_exceeds_a_bound_fails_and_says_so(self):
        self.compile_detector("--bound", "y=3")
        self.write_inputs([1, 1, 1, 0, 0, 0, 0, 0])
        run = ["--input", self.path("in.npz")]
        self.camshaft("run", self.path("m.plan"), *run)
        self.camshaft("compare", self.path("m.plan"), "--ref", self.path("m.onnx"), *run)
        self.write_inputs([1, 1, 1, 1, 0, 0, 0, 0])
        for target in TARGETS.split(","):
            document = self.document("run", self.path("m.plan"), *run, "--target", target, "--output",
                                     self.path("out.npz"), code=OUTSIDE)
            self.assertEqual(document["error"]["kind"], "bound exceeded")
            self.assertIn("y=3", document["error"]["sentences"][0])
        self.assertFalse(os.path.exists(self.path("out.npz")))
        self.camshaft("compare", self.path("m.plan"), "--ref", self.path("m.onnx"), *run, code=OUTSIDE)
        self.camshaft("bench", self.path("m.plan"), *run, "--iterations", "1", "--warmup", "0",
                      code=OUTSIDE)
        done = self.camshaft("compile", self.path("m.onnx"), "-o", self.path("m.plan"), "--bound",
                             "y=3", "--golden", self.path("in.npz"), code=OUTSIDE)
        self.assertIn("needs more than a bound", done.stderr)

    def check_exceeded(self, text, bounds, runs):
        """With these bounds, comparing runs on (inputs, code) with onnxruntime exits with code."""
        make_parsed(self.path("m.onnx"), text)
        self.camshaft("compile", self.path("m.onnx"), "-o", self.path("m.plan"), "--target", TARGETS,
                      *(word for bound in bounds for word in ("--bound", bound)))
        for inputs, code in runs:
            np.savez(self.path("in.npz"), **inputs)
            for target in TARGETS.split(","):
                self.camshaft("compare", self.path("m.plan"), "--ref", self.path("m.onnx"),
                              "--input", self.path("in.npz"), "--target", target, code=code)

    def test_a_branch_that_is_not_taken_exceeds_nothing(self):
        few, many = np.float32([0, 1, 0, 0, 0, 1]), np.ones(6, np.float32)
        self.check_exceeded("""branches (bool c, float[6] x) => (int64 n) {
            n = If(c) <then_branch = t () => (int64 a) { p = NonZero(x)
                                                         s = Shape(p)
                                                         i = Constant<value_int=1>()
                                                         a = Gather<axis=0>(s, i) },
                       else_branch = e () => (int64 b) { b = Constant<value_int=7>() }>
        }""", ["p=3"], [({"c": True, "x": few}, 0), ({"c": True, "x": many}, OUTSIDE),
                      ({"c": False, "x": few}, 0), ({"c": False, "x": many}, 0)])

    def test_an_iteration_that_does_not_happen_exceeds_nothing(self):
        # Iteration i finds the i elements below i; five are unrolled, of which two may find enough.
        x = np.float32([0.5, 1.5, 2.5, 3.5])
        text = """counting (int64 trips, float[4] x) => (int64 n) {
            z = Constant<value_int=0>()
            n = Loop(trips, , z) <body = body (int64 i, bool c, int64 a) => (bool d, int64 b) {
                d = Identity(c)
                f = Cast<to=1>(i)
                m = Less(x, f)
                p = NonZero(m)
                s = Shape(p)
                k = Constant<value_int=1>()
                b = Gather<axis=0>(s, k)
            }>
        }"""
        self.check_exceeded(text, ["p=2", "trips=5"], [
            ({"trips": 3, "x": x}, 0), ({"trips": 4, "x": x}, OUTSIDE), ({"trips": 0, "x": x}, 0)])

    def test_a_bound_holds_below_zero_too(self):
        # c - n is more than c where n is negative.
        text = """below (int64 n, float[4] x) => (int64[k] y) {
            m = NonZero(x)
            s = Shape(m)
            i = Constant<value_int=1>()
            c = Gather<axis=0>(s, i)
            d = Constant<value_int=1>()
            y = Range(n, c, d)
        }"""
        make_parsed(self.path("m.onnx"), text)
        compile_it = ["compile", self.path("m.onnx"), "-o", self.path("m.plan"), "--target", TARGETS]
        done = self.camshaft(*compile_it, code=UNSUPPORTED)
        self.assertIn("how many numbers it gives depends on data", done.stderr)
        x = np.float32([1, 0, 2, 0])
        self.check_exceeded(text, ["y=6"], [({"n": -4, "x": x}, 0), ({"n": -5, "x": x}, OUTSIDE),
                                            ({"n": 3, "x": x}, 0)])

    def test_goldens_cover_everything_and_other_targets_what_counts(self):
        self.write_inputs([0, 1, 0, 1, 0, 0, 0, 0])
        self.assertEqual(self.compile_detector("--golden", self.path("in.npz"))["goldens"], 2)
        document = self.document("verify", self.path("m.plan"))
        same, other = document["goldens"]
        self.assertTrue(same["hash_equal"] and same["good"] and other["good"])
        self.assertEqual([(o["name"], o["elements"]) for o in other["outputs"]],
                         [("y", 8), ("at", 2)])

    def test_bench(self):
        self.compile_detector()
        self.camshaft("bench", self.path("m.plan"), "--iterations", "3", "--warmup", "0")

    def test_what_has_no_bound_says_which_to_give_and_the_command_takes_it(self):
        make_parsed(self.path("m.onnx"), """zeros (int64[1] n) => (float[k] y) {
            y = ConstantOfShape(n)
        }""")
        compile_it = ["compile", self.path("m.onnx"), "-o", self.path("m.plan"), "--target", TARGETS]
        done = self.camshaft(*compile_it, code=UNSUPPORTED)
        self.assertIn("--bound 'n=N'", done.stderr)
        self.assertIn("--freeze 'n=VALUE'", done.stderr)
        self.camshaft(*compile_it, "--bound", "n=6")
        np.save(self.path("n.npy"), np.int64([4]))
        document = self.document("run", self.path("m.plan"), "--input", "n=" + self.path("n.npy"))
        self.assertEqual(document["outputs"][0]["shape"], [4])
        self.camshaft("compare", self.path("m.plan"), "--ref", self.path("m.onnx"), "--range", "n=0:6")
        np.save(self.path("n.npy"), np.int64([7]))
        self.camshaft("run", self.path("m.plan"), "--input", "n=" + self.path("n.npy"), code=OUTSIDE)
        self.camshaft(*compile_it, "--freeze", "n=6")
        self.assertEqual(self.document("inspect", self.path("m.plan"))["outputs"][0]["shape"], [6])

    def test_malformed_and_unused_bounds(self):
        make_detector(self.path("m.onnx"))
        compile_it = ["compile", self.path("m.onnx"), "-o", self.path("m.plan")]
        for wrong in ("y", "y=", "=3", "y=-1", "y=few"):
            self.assertIn("--bound " + wrong, self.camshaft(*compile_it, "--bound", wrong,
                                                            code=USAGE).stderr)
        self.camshaft(*compile_it, "--bound", "y=3", "--bound", "y=4", code=USAGE)
        done = self.camshaft(*compile_it, "--bound", "z=3", code=USAGE)
        self.assertIn("'z': has a bound, but no number", done.stderr)
        self.assertFalse(os.path.exists(self.path("m.plan")))

    def test_slices_of_what_depends_on_data_are_refused(self):
        make_detector(self.path("m.onnx"))
        model = onnx.load(self.path("m.onnx"))
        helper.set_model_props(model, {"camshaft.output_slices": json.dumps(
            [{"name": "best", "offset": 0, "shape": [4], "output": "y"}])})
        onnx.save(model, self.path("m.onnx"))
        done = self.camshaft("compile", self.path("m.onnx"), "-o", self.path("m.plan"),
                             code=models.DAMAGED)
        self.assertIn("extents depend on data", done.stderr)


class Frozen(models.CommandTest):
    def test_numbers_and_files(self):
        make_scaled(self.path("m.onnx"))
        gain = np.float32([[1, 2, 3], [4, 5, 6]])
        np.save(self.path("a=b.npy"), gain)
        np.save(self.path("x.npy"), np.ones((2, 3), np.float32))
        for given in ("gain=1,2,3,4,5,6", "gain=" + self.path("a=b.npy")):
            self.camshaft("compile", self.path("m.onnx"), "-o", self.path("m.plan"), "--target",
                          TARGETS, "--shape", "x=2x3", "--freeze", "mode=1", "-f", given)
            document = self.document("inspect", self.path("m.plan"))
            self.assertEqual([i["name"] for i in document["inputs"]], ["x"])
            self.assertEqual([(f["name"], f["dtype"], f["shape"], f["values"])
                              for f in document["frozen"]],
                             [("gain", "f32", [2, 3], [1, 2, 3, 4, 5, 6]), ("mode", "i64", [], [1])])
            page = self.camshaft("inspect", self.path("m.plan")).stdout
            self.assertRegex(page, r"(?m)^  mode +i64 +\[\] += 1$")
            for target in TARGETS.split(","):
                self.camshaft("run", self.path("m.plan"), "--input", self.path("x.npy"), "--target",
                              target, "--output", self.path("y.npz"))
                with np.load(self.path("y.npz")) as outputs:
                    np.testing.assert_array_equal(outputs["y"], np.tile(gain[1], (2, 1)))
                for engine in ("onnxruntime", "oracle"):
                    self.camshaft("compare", self.path("m.plan"), "--ref", self.path("m.onnx"),
                                  "--engine", engine, "--target", target)

    def test_two_values_are_two_plans_and_the_difference_shows(self):
        make_scaled(self.path("m.onnx"))
        plans = []
        for mode in (0, 1):
            plans.append(self.path("%d.plan" % mode))
            self.camshaft("compile", self.path("m.onnx"), "-o", plans[-1], "--shape", "x=2x3",
                          "--freeze", "mode=%d" % mode)
        differences = self.document("inspect", plans[0], "--diff", plans[1])["differences"]
        self.assertIn("frozen input mode: values from 0 to 1", differences)
        digests = {self.document("inspect", plan)["model_digest"] for plan in plans}
        self.assertEqual(len(digests), 1)  # of the model, which is the same
        np.savez(self.path("in.npz"), x=np.ones((2, 3), np.float32),
                 gain=np.float32([[1, 1, 1], [2, 2, 2]]))
        inputs = ["--input", self.path("in.npz")]
        self.camshaft("compare", plans[0], "--ref", plans[1], *inputs, code=OUTSIDE)
        # A plan that takes as an input what the other has frozen is given the frozen value.
        self.camshaft("compile", self.path("m.onnx"), "-o", self.path("free.plan"), "--shape", "x=2x3")
        self.camshaft("compare", plans[1], "--ref", self.path("free.plan"), *inputs)

    def test_an_input_with_a_default_can_be_frozen_to_another_value(self):
        make_scaled(self.path("m.onnx"), with_default=True)
        self.camshaft("compile", self.path("m.onnx"), "-o", self.path("m.plan"), "--shape", "x=2x3",
                      "--freeze", "gain=7")
        document = self.document("compare", self.path("m.plan"), "--ref", self.path("m.onnx"),
                                 "--range", "mode=0:1")
        self.assertTrue(document["within"])

    def test_bisect_knows_frozen_inputs(self):
        make_parsed(self.path("m.onnx"), """scaled (float[4] x, float[4] gain) => (float[4] y) {
            e = Exp(x)
            y = Mul(e, gain)
        }""")
        self.camshaft("compile", self.path("m.onnx"), "-o", self.path("m.plan"), "--freeze",
                      "gain=0.3")
        document = self.document("compare", self.path("m.plan"), "--ref", self.path("m.onnx"),
                                 "--engine", "oracle", "--bisect", "--atol", "1e-13", "--rtol", "0",
                                 code=OUTSIDE)
        self.assertEqual(document["bisect"]["stage"], "kernel")

    def test_malformed_and_unknown_ones(self):
        make_scaled(self.path("m.onnx"))
        compile_it = ["compile", self.path("m.onnx"), "-o", self.path("m.plan"), "--shape", "x=2x3"]
        np.save(self.path("mode.npy"), np.int32(1))
        for wrong, part in (("mode", "NAME=16000"), ("mode=", "NAME=16000"), ("=1", "NAME=16000"),
                            ("mode=one", "'one': that is no number of type i64"),
                            ("mode=1,2", "2 numbers can't fill"), ("gain=1,2", "f32[2x3]"),
                            ("mood=1", "'mood': is to be frozen, but the model has no such input"),
                            ("mode=" + self.path("mode.npy"), "i64[], but to be frozen as i32[]"),
                            ("mode=" + self.path("none.npy"), "none.npy")):
            done = self.camshaft(*compile_it, "--freeze", wrong, code=USAGE)
            self.assertIn(part, done.stderr)
        self.camshaft(*compile_it, "--freeze", "mode=1", "--freeze", "mode=0", code=USAGE)
        self.assertFalse(os.path.exists(self.path("m.plan")))


class Notices(models.CommandTest):
    def test_what_is_worth_knowing_is_a_note(self):
        make_parsed(self.path("m.onnx"), """choice (bool c, float[3] x) => (float[3] y) {
            y = If(c) <then_branch = t () => (float[3] a) { h = Exp(x)
                                                            a = Neg(h) },
                       else_branch = e () => (float[3] b) { b = Sin(x) }>
        }""")
        compile_it = ["compile", self.path("m.onnx"), "-o", self.path("m.plan")]
        document = self.document(*compile_it)
        self.assertEqual(len(document["notes"]), 1)
        self.assertIn("every run computes both branches: 2 and 1 nodes", document["notes"][0])
        self.assertIn("camshaft compile: note: node ", self.camshaft(*compile_it).stderr)
        self.camshaft("compare", self.path("m.plan"), "--ref", self.path("m.onnx"))
        self.assertEqual(self.document(*compile_it, "--freeze", "c=true")["notes"], [])

        model = onnx.load(self.path("m.onnx"))
        model.opset_import[0].version = 99
        onnx.save(model, self.path("m.onnx"))
        notes = self.document(*compile_it, "--freeze", "c=true")["notes"]
        self.assertIn("opset 99 is newer than", notes[0])

    def test_the_ir_version_of_the_onnx_package_is_known(self):
        model = onnx.parser.parse_model(
            '<ir_version: %d, opset_import: ["" : 17]> g (float[3] x) => (float[3] y) {y = Relu(x)}'
            % onnx.IR_VERSION)
        compile_it = ["compile", self.path("m.onnx"), "-o", self.path("m.plan")]
        onnx.save(model, self.path("m.onnx"))
        self.assertEqual(self.document(*compile_it)["notes"], [])
        model.ir_version = 99
        onnx.save(model, self.path("m.onnx"))
        [note] = self.document(*compile_it)["notes"]
        self.assertIn("IR version 99 is newer than", note)

    def test_notes_come_with_failures_too(self):
        models.make_typed(self.path("m.onnx"), {"x": (TensorProto.FLOAT, [4])},
                          [helper.make_node("StringNormalizer", ["x"], ["y"])],
                          {"y": (TensorProto.FLOAT, [4])}, opset=99)
        document = self.document("compile", self.path("m.onnx"), "-o", self.path("m.plan"),
                                 code=UNSUPPORTED)
        self.assertIn("opset 99", document["notes"][0])
        self.assertNotIn("opset 99", " ".join(document["error"]["sentences"]))


if __name__ == "__main__":
    unittest.main()
