# SPDX-License-Identifier: MIT
"""camshaft compile: plans, reports, and every way to be refused."""

import os
import resource
import subprocess
import unittest

import command_models as models
import e2e
import numpy as np
from command_models import DAMAGED, UNSUPPORTED, USAGE, WRONG_TARGET
from onnx import TensorProto, helper


class Compile(models.CommandTest):
    def test_report_has_what_people_ask_for(self):
        models.make_convolutions(self.path("m.onnx"))
        document = self.document("compile", self.path("m.onnx"), "-o", self.path("m.plan"),
                                 "--target", "llvm,cpu")
        self.assert_members(document, {"model": str, "plan": str, "file_bytes": int, "hash": str,
                                       "nodes_read": int, "targets": list, "steps": list,
                                       "goldens": int})
        self.assertRegex(document["hash"], "^[0-9a-f]{32}$")
        self.assertEqual(document["file_bytes"], os.path.getsize(self.path("m.plan")))
        self.assertEqual([t["target"].split(":")[0] for t in document["targets"]], ["llvm", "cpu"])
        for target in document["targets"]:
            self.assert_members(target, {
                "nodes": int, "launches": int, "kernels": int, "strategies": dict, "flops": int,
                "arena_bytes": int, "arena_lower_bound_bytes": int, "weights_bytes": int,
                "binary_bytes": int, "winograd_error": float, "seconds": float})
            # Batch norm, activation and addition are in the two convolutions' kernels.
            self.assertEqual(target["launches"], 2, target)
            self.assertEqual(sum(target["strategies"].values()), target["launches"])
            self.assertGreaterEqual(target["arena_bytes"], target["arena_lower_bound_bytes"])
        page = self.camshaft("compile", self.path("m.onnx"), "-o", self.path("m.plan")).stdout
        self.assertIn("launches", page)
        self.assertIn("hash", page)

    def test_same_model_gives_the_same_bytes(self):
        plan, _ = self.compile_dense()
        again, _ = self.compile_dense(name="again")
        os.replace(self.path("again.plan"), self.path("moved.plan"))
        with open(plan, "rb") as a, open(self.path("moved.plan"), "rb") as b:
            first, second = a.read(), b.read()
        self.assertEqual(len(first), len(second))
        self.assertEqual(first, second)
        models.make_dense(self.path("other.onnx"), seed=2)
        self.camshaft("compile", self.path("other.onnx"), "-o", self.path("other.plan"))
        with open(self.path("other.plan"), "rb") as f:
            self.assertNotEqual(f.read(), first)

    def test_all_unsupported_nodes_are_named_at_once(self):
        models.make_typed(
            self.path("m.onnx"), {"x": (TensorProto.FLOAT, [4])},
            [helper.make_node("ImageDecoder", ["x"], ["a"], name="first"),
             helper.make_node("StringNormalizer", ["x"], ["b"], name="second"),
             helper.make_node("Relu", ["x"], ["y"], name="good")],
            {"y": (TensorProto.FLOAT, [4]), "a": (TensorProto.INT64, [1, None]),
             "b": (TensorProto.FLOAT, [4])})
        document = self.document("compile", self.path("m.onnx"), "-o", self.path("m.plan"),
                                 code=UNSUPPORTED)
        self.assertEqual([p["node"] for p in document["problems"]][:2], ["first", "second"])
        self.assertEqual([p["op_type"] for p in document["problems"]][:2],
                         ["ImageDecoder", "StringNormalizer"])
        self.assertFalse(os.path.exists(self.path("m.plan")))

    def test_free_dimensions_need_shapes(self):
        models.make_typed(self.path("m.onnx"), {"x": (TensorProto.FLOAT, ["batch", 4])},
                          [helper.make_node("Relu", ["x"], ["y"])],
                          {"y": (TensorProto.FLOAT, ["batch", 4])})
        compile_it = ["compile", self.path("m.onnx"), "-o", self.path("m.plan")]
        self.assertIn("batch", self.camshaft(*compile_it, code=USAGE).stderr)
        for shape in ("x=2x4", "batch=2"):
            self.camshaft(*compile_it, "--shape", shape)
            document = self.document("inspect", self.path("m.plan"))
            self.assertEqual(document["inputs"][0]["shape"], [2, 4])
        self.camshaft(*compile_it, "--shape", "x=2xfour", code=USAGE)

    def test_what_is_no_model_is_damaged_and_what_is_missing_is_not(self):
        with open(self.path("m.onnx"), "wb") as f:
            f.write(b"\x08this is no protobuf\xff\xff\xff\xff")
        compile_to = ["-o", self.path("m.plan")]
        self.camshaft("compile", self.path("m.onnx"), *compile_to, code=DAMAGED)
        self.camshaft("compile", self.path("none.onnx"), *compile_to, code=USAGE)

    def test_a_failure_leaves_the_old_plan(self):
        plan, _ = self.compile_dense()
        with open(plan, "rb") as f:
            before = f.read()
        with open(self.path("bad.onnx"), "wb") as f:
            f.write(b"bad")
        done = self.camshaft("compile", self.path("bad.onnx"), "-o", plan, code=DAMAGED)
        self.assertIn("bad.onnx: this is not an ONNX model, or it is cut short; only ONNX models",
                      done.stderr)
        with open(plan, "rb") as f:
            self.assertEqual(f.read(), before)
        self.assertEqual(sorted(os.listdir(self.folder)), ["bad.onnx", "dense.onnx", "dense.plan"])

    def test_usage(self):
        models.make_dense(self.path("m.onnx"))
        compile_it = ["compile", self.path("m.onnx"), "-o", self.path("m.plan")]
        self.camshaft("compile", self.path("m.onnx"), code=USAGE)
        self.camshaft("compile", self.path("m.onnx"), "-o", self.path("m.onnx"), code=USAGE)
        self.assertNotIn("did you mean",
                         self.camshaft(*compile_it, "--target", "vax", code=USAGE).stderr)
        self.camshaft(*compile_it, "--target", "llvm:pdp11", code=USAGE)
        self.camshaft(*compile_it, "--threads", "0", code=USAGE)
        self.camshaft(*compile_it, "--disable-pass", "no_such_pass", code=USAGE)
        self.camshaft(*compile_it, "--no-such-option", code=USAGE)
        for dtype in ("f8", "f64", "int8"):
            self.assertIn("{f32,f16,bf16}",
                          self.camshaft(*compile_it, "--dtype", dtype, code=USAGE).stderr)
        self.camshaft(*compile_it, "--max-error", "-1", code=USAGE)
        self.camshaft(*compile_it, "--max-error", "small", code=USAGE)
        for target, hint in (("lvm", "(did you mean 'llvm'?)"),
                             ("opencl:qcon", "(did you mean 'opencl:qcom'?)")):
            self.assertIn(hint, self.camshaft(*compile_it, "--target", target, code=USAGE).stderr)
        self.assertIn("(did you mean 'fold_constants'?)", self.camshaft(
            *compile_it, "--disable-pass", "fold_constant", code=USAGE).stderr)
        self.camshaft("compile", self.path("m.onnx"), "-o", self.path("none/m.plan"), code=USAGE)
        self.camshaft(*compile_it, "--sign", "", code=USAGE)
        self.assertFalse(os.path.exists(self.path("m.plan")))

    def test_options_for_images_need_a_gpu(self):
        models.make_dense(self.path("m.onnx"))
        compile_it = ["compile", self.path("m.onnx"), "-o", self.path("m.plan")]
        for option in (["--images", "on"], ["--image-limit", "64x64"], ["--image-input", "x"]):
            done = self.camshaft(*compile_it, *option, code=USAGE)
            self.assertIn(option[0], done.stderr)
            self.assertIn("--target opencl", done.stderr)
        for option in (["--images", "off"], ["--images", "on", "--target", "llvm,opencl"]):
            self.camshaft(*compile_it, *option)

    def test_narrow_dtypes_and_their_accuracy(self):
        models.make_convolutions(self.path("m.onnx"))
        compile_it = ["compile", self.path("m.onnx"), "-o", self.path("m.plan")]
        wide = self.document(*compile_it, "--target", "llvm,cpu")
        self.assertNotIn("accuracy", wide)
        for dtype, least, most in (("f16", 1e-5, 1e-3), ("bf16", 1e-4, 1e-2)):
            # The last target can't run here: the oracle tells its accuracy.
            document = self.document(*compile_it, "--dtype", dtype, "--target",
                                     "llvm,cpu,llvm:cortex-a76")
            self.assertEqual([t["ran"] for t in document["accuracy"]], [True, True, False])
            for target in document["accuracy"]:
                (output,) = target["outputs"]
                self.assertEqual(output["name"], "y")
                self.assertGreater(output["relative_rms"], least)
                self.assertLess(output["relative_rms"], most)
                self.assertGreater(output["snr_db"], 40)
            # It rounds what lies between kernels too, as a run does.
            run, _, oracle = (t["outputs"][0]["relative_rms"] for t in document["accuracy"])
            self.assertGreater(oracle, 0.7 * run)
            self.assertLess(oracle, 1.4 * run)
            # The second convolution's weights have half the bytes.
            saved = wide["targets"][0]["weights_bytes"] - document["targets"][0]["weights_bytes"]
            self.assertGreaterEqual(saved, 8 * 8 * 9 * 2)
            self.assertIn("relative rms", self.camshaft(*compile_it, "--dtype", dtype).stdout)
        poor = [*compile_it, "--target", "llvm:x86-64-v2", "--dtype"]
        self.assertIn("bf16 is faster there", self.document(*poor, "f16")["notes"][1])
        self.assertEqual(len(self.document(*poor, "bf16")["notes"]), 1)

    def test_a_processor_that_only_stores_a_dtype_is_told(self):
        models.make_convolutions(self.path("m.onnx"))

        def notes(targets, dtype):
            return self.document("compile", self.path("m.onnx"), "-o", self.path("m.plan"),
                                 "--target", targets, "--dtype", dtype)["notes"]

        for dtype in ("bf16", "f16"):
            (note,) = notes("llvm:znver3,opencl,cpu:x86-64-v3", dtype)
            self.assertIn("llvm:znver3 and cpu:x86-64-v3 can only store %s" % dtype, note)
        self.assertIn("sapphirerapids", notes("llvm:sapphirerapids", "f16")[0])
        for targets, dtype in (("llvm:sapphirerapids", "bf16"), ("opencl", "f16"),
                               ("llvm:znver3", "f32")):
            self.assertEqual(notes(targets, dtype), [])

    def test_a_plan_above_the_largest_error_is_not_written(self):
        models.make_convolutions(self.path("m.onnx"))
        compile_it = ["compile", self.path("m.onnx"), "-o", self.path("m.plan"), "--dtype", "bf16"]
        refused = self.camshaft(*compile_it, "--max-error", "1e-6", code=models.OUTSIDE)
        self.assertIn("--max-error", refused.stderr)
        self.assertIn("'y'", refused.stderr)
        self.assertIn("or compile with --dtype f32", refused.stderr)
        refused = self.camshaft(*compile_it[:-2], "--max-error", "0", code=models.OUTSIDE)
        self.assertIn("allow more", refused.stderr)
        self.assertNotIn("--dtype", refused.stderr)
        self.assertFalse(os.path.exists(self.path("m.plan")))
        self.camshaft(*compile_it, "--max-error", "0.05")
        self.assertTrue(os.path.exists(self.path("m.plan")))
        # It holds for f32 too, whose error is that of rounding.
        wide = self.document(*compile_it[:-2], "--max-error", "1e-4")
        self.assertLess(wide["accuracy"][0]["outputs"][0]["relative_rms"], 1e-5)

    def make_large_between(self, path):
        """Three products of f32[4,64], the second of about 4e5: too large for f16; y is small."""
        rng = np.random.default_rng(0)
        weights = {"w%d" % i: np.float32(rng.uniform(-scale, scale, (64, 64)))
                   for i, scale in enumerate((300, 300, 1e-4))}
        models.make_typed(path, {"x": (TensorProto.FLOAT, [4, 64])},
                          [helper.make_node("MatMul", ["x", "w0"], ["a"]),
                           helper.make_node("MatMul", ["a", "w1"], ["b"]),
                           helper.make_node("MatMul", ["b", "w2"], ["y"])],
                          {"y": (TensorProto.FLOAT, [4, 64])}, weights=weights)

    def test_values_between_kernels_that_f16_can_not_hold_are_refused_for_every_target(self):
        self.make_large_between(self.path("m.onnx"))
        for target in ("llvm", "cpu", "llvm:cortex-a76"):  # the last can't run here
            compile_it = ["compile", self.path("m.onnx"), "-o", self.path("m.plan"), "--target",
                          target, "--max-error", "0.02", "--dtype"]
            refused = self.camshaft(*compile_it, "f16", code=models.OUTSIDE)
            self.assertIn("the relative RMS error of output 'y' is inf", refused.stderr)
            self.assertFalse(os.path.exists(self.path("m.plan")))
            self.camshaft(*compile_it, "bf16")  # has the range of f32
            os.remove(self.path("m.plan"))

    def test_outputs_that_overflow_are_told_without_a_limit_too(self):
        self.make_large_between(self.path("m.onnx"))
        compile_it = ["compile", self.path("m.onnx"), "-o", self.path("m.plan"), "--target",
                      "llvm,llvm:cortex-a76", "--dtype"]
        document = self.document(*compile_it, "f16")
        self.assertEqual(len(document["notes"]), 3)
        self.assertIn("can only store f16", document["notes"][0])
        for note, target in zip(document["notes"][1:], document["accuracy"]):
            (output,) = target["outputs"]
            self.assertGreater(output["not_finite_alone"], 0)
            self.assertIsNone(output["snr_db"])
            self.assertIn("%s: %d of 256 values of output 'y' are not finite in f16" %
                          (target["target"], output["not_finite_alone"]), note)
        done = self.camshaft(*compile_it, "f16")
        self.assertRegex(done.stdout, r" inf +-inf +the oracle")
        self.assertIn("values of output 'y' are not finite in f16", done.stdout + done.stderr)
        document = self.document(*compile_it, "bf16")
        self.assertIn("can only store bf16", *document["notes"])
        self.assertEqual(document["accuracy"][1]["outputs"][0]["not_finite_alone"], 0)

    def test_what_can_not_be_written_or_signed_is_told_before_any_work(self):
        models.make_dense(self.path("m.onnx"))
        os.mkdir(self.path("folder"))
        with open(self.path("short.key"), "wb") as f:
            f.write(b"short")
        for options in (["-o", self.path("none/m.plan")], ["-o", self.path("folder")],
                        ["-o", self.path("m.plan"), "--sign", self.path("none.key")],
                        ["-o", self.path("m.plan"), "--sign", self.path("short.key")]):
            done = self.camshaft("compile", self.path("m.onnx"), *options, code=USAGE)
            self.assertNotIn("[1/", done.stderr)  # no step was begun
        self.assertIn("[1/", self.camshaft("compile", self.path("m.onnx"), "-o",
                                           self.path("m.plan")).stderr)

    def test_a_plan_that_needs_more_memory_than_there_is(self):
        # 2^43 bytes of output, of one number.
        models.make_typed(self.path("m.onnx"), {"x": (TensorProto.FLOAT, [1])},
                          [helper.make_node("Expand", ["x", "shape"], ["y"])],
                          {"y": (TensorProto.FLOAT, [1 << 20, 1 << 18])},
                          weights={"shape": np.int64([1 << 20, 1 << 18])})
        document = self.document("compile", self.path("m.onnx"), "-o", self.path("m.plan"))
        self.assertIn("needs 1024 GiB of memory to run", document["notes"][0])
        document = self.document("run", self.path("m.plan"), "--random", code=WRONG_TARGET)
        self.assertIn("the plan needs 1024.0 GiB of memory", document["error"]["sentences"][0])
        self.assertIn("--shape", document["error"]["sentences"][0])

    def test_values_of_more_memory_than_a_plan_can_have(self):
        # Two values of 2^40 bytes live at once.
        nodes = [helper.make_node("Softmax", ["x"], ["a"]), helper.make_node("Softmax", ["a"], ["b"]),
                 *(helper.make_node("ReduceMean", [v], [v + "m"], axes=[0, 1]) for v in "ab")]
        models.make_typed(self.path("m.onnx"), {"x": (TensorProto.FLOAT, [1 << 19, 1 << 19])}, nodes,
                          {v: (TensorProto.FLOAT, [1, 1]) for v in ("am", "bm")})
        document = self.document("compile", self.path("m.onnx"), "-o", self.path("m.plan"),
                                 code=UNSUPPORTED)
        self.assertIn("take 2048 GiB at once, and a plan can have 1024; compile for smaller",
                      document["error"]["sentences"][0])

    def test_a_file_that_may_not_grow_is_a_failure_with_a_sentence(self):
        models.make_dense(self.path("m.onnx"))
        for limit in (1000, 8000):
            done = subprocess.run(
                [e2e.CAMSHAFT, "compile", self.path("m.onnx"), "-o", self.path("m.plan")],
                env={**os.environ, "TMPDIR": self.folder}, capture_output=True, text=True,
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
            self.assertEqual(done.returncode, USAGE, done.stderr)
            self.assertRegex(done.stderr, "File too large|ulimit -f")
            self.assertNotIn("bug report", done.stderr)
            self.assertEqual(os.listdir(self.folder), ["m.onnx"])

    def test_a_missing_extent_is_the_only_problem_of_an_if_that_reads_it(self):
        branches = {name: helper.make_graph([helper.make_node(op, ["x"], [name])], name, [], [
            helper.make_tensor_value_info(name, TensorProto.FLOAT, None)])
                    for name, op in (("then_branch", "Neg"), ("else_branch", "Abs"))}
        models.make_typed(self.path("m.onnx"), {"x": (TensorProto.FLOAT, ["length"]),
                                                "c": (TensorProto.BOOL, [])},
                          [helper.make_node("If", ["c"], ["y"], **branches)],
                          {"y": (TensorProto.FLOAT, ["length"])})
        document = self.document("compile", self.path("m.onnx"), "-o", self.path("m.plan"), code=USAGE)
        sentences = document["error"]["sentences"]
        self.assertIn("--shape", sentences[0])
        self.assertNotIn("not supported", " ".join(sentences))
        self.camshaft("compile", self.path("m.onnx"), "-o", self.path("m.plan"), "--shape", "length=4")

    def test_switches_for_finding_faults_keep_the_results(self):
        plan, _ = self.compile_dense()
        plain, _ = self.compile_dense("--no-fuse", "--disable-pass", "fold_constants", "--no-source",
                                      name="plain")
        self.assertLess(self.document("inspect", plan)["targets"][0]["commands"],
                        self.document("inspect", plain)["targets"][0]["commands"])
        self.camshaft("compare", plan, "--ref", plain)

    def test_representations_are_written_and_printed(self):
        models.make_dense(self.path("m.onnx"))
        done = self.camshaft("compile", self.path("m.onnx"), "-o", self.path("m.plan"), "--dump",
                             self.path("dump"), "--print", "schedule")
        names = sorted(os.listdir(self.path("dump")))
        self.assertEqual(names[0], "00-graph.txt")
        self.assertRegex(names[-1], r"^\d\d-schedule\.txt$")
        with open(os.path.join(self.path("dump"), names[-1]), encoding="utf-8") as f:
            self.assertIn(f.read(), done.stdout)
        document = self.document("compile", self.path("m.onnx"), "-o", self.path("m.plan"),
                                 "--print", "graph")
        self.assertIn("graph", document["printed"])


class Golden(models.CommandTest):
    def compile_golden(self, *options):
        models.make_dense(self.path("m.onnx"))
        rng = np.random.default_rng(3)
        np.savez(self.path("in.npz"), x=rng.standard_normal((3, 8)).astype(np.float32))
        return self.document("compile", self.path("m.onnx"), "-o", self.path("m.plan"), "--golden",
                             self.path("in.npz"), *options)

    def test_goldens_of_every_target_that_runs_here(self):
        self.assertEqual(self.compile_golden("--target", "llvm,cpu")["goldens"], 2)
        document = self.document("verify", self.path("m.plan"))
        self.assertEqual(len(document["goldens"]), 2)
        same, other = document["goldens"]
        self.assertTrue(same["same_target"] and same["hash_equal"] and same["good"])
        self.assertTrue(not other["same_target"] and other["good"])

    def test_a_target_for_other_machines_has_none_and_says_so(self):
        document = self.compile_golden("--target", "llvm,llvm:cortex-a76")
        self.assertEqual(document["goldens"], 1)
        self.assertIn("cortex-a76", document["notes"][0])

    def test_goldens_must_fit_the_inputs(self):
        models.make_dense(self.path("m.onnx"))
        np.savez(self.path("in.npz"), x=np.zeros((8, 3), np.float32))
        self.camshaft("compile", self.path("m.onnx"), "-o", self.path("m.plan"), "--golden",
                      self.path("in.npz"), code=USAGE)
        done = self.camshaft("compile", self.path("m.onnx"), "-o", self.path("m.plan"), "--golden",
                             "y=" + self.path("in.npz"), code=USAGE)
        self.assertIn("--golden names 'y'", done.stderr)
        self.assertNotIn("--input", done.stderr)
        self.assertFalse(os.path.exists(self.path("m.plan")))


class OtherMachine(models.CommandTest):
    def test_a_plan_for_another_processor_is_refused_and_both_are_named(self):
        plan, _ = self.compile_dense("--target", "llvm:cortex-a76")
        for verb in (["run", plan, "--random"], ["bench", plan], ["compare", plan, "--ref", plan]):
            done = self.camshaft(*verb, code=WRONG_TARGET)
            self.assertIn("cortex-a76", done.stderr)
            self.assertIn("x86_64" if os.uname().machine == "x86_64" else os.uname().machine,
                          done.stderr)
        self.camshaft("inspect", plan, "--kernels")

    def test_a_device_that_is_not_there(self):
        plan, _ = self.compile_dense()
        self.camshaft("run", plan, "--random", "--device", "null", code=WRONG_TARGET)
        self.camshaft("run", plan, "--random", "--device", "cpu:7", code=WRONG_TARGET)
        self.camshaft("run", plan, "--random", "--device", "abacus", code=USAGE)
        self.camshaft("run", plan, "--random", "--target", "cuda", code=USAGE)


if __name__ == "__main__":
    unittest.main()
