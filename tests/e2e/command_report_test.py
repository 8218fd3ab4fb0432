# SPDX-License-Identifier: MIT
"""camshaft bench, inspect and compare."""

import json
import os
import re
import sys
import unittest
import xml.etree.ElementTree as xml
from unittest import mock

import command_models as models
import e2e
import numpy as np
from command_models import LATE, OUTSIDE, UNSUPPORTED, USAGE
from onnx import TensorProto, helper


class Bench(models.CommandTest):
    def bench(self, plan, *options, code=0):
        return self.document("bench", plan, "--warmup", "0", "--iterations", "20", *options,
                             code=code)

    def test_document_has_every_figure_and_setting(self):
        plan, _ = self.compile_dense()
        document = self.bench(plan, "--percentiles", "50,99.9")
        self.assert_members(document, {
            "settings": dict, "load_ms": float, "first_run_ms": float, "runs": int,
            "seconds": float, "runs_per_second": float, "latency_ms": dict, "flops": float,
            "gflops": float, "deadline": dict, "usage": dict})
        self.assertEqual(document["runs"], 20)
        self.assertEqual(list(document["latency_ms"]), ["min", "mean", "p50", "p99.9", "max"])
        values = document["latency_ms"]
        self.assertLessEqual(values["min"], values["p50"])
        self.assertLessEqual(values["p50"], values["max"])
        self.assertEqual(document["settings"]["iterations"], 20)
        self.assertIsNone(document["settings"]["duration_s"])
        page = self.camshaft("bench", plan, "--iterations", "3", "--warmup", "0").stdout
        for word in ("load", "first run", "p99.9", "settings"):
            self.assertIn(word, page)

    def test_deadlines(self):
        plan, _ = self.compile_dense()
        document = self.bench(plan, "--deadline", "0.000001", code=LATE)
        self.assertEqual(document["deadline"]["late"], 20)
        self.bench(plan, "--deadline", "60000")
        document = self.bench(plan, "--rate", "500")
        self.assertGreaterEqual(document["seconds"], 18 / 500)
        # Late, but nobody set a deadline.
        self.assertEqual(self.bench(plan, "--rate", "1000000000")["exit_code"], 0)
        once = ["bench", plan, "--warmup", "0", "--iterations", "2"]
        self.assertIn("lateness from when it was due", self.camshaft(*once, "--rate", "500").stdout)
        self.assertNotIn("due", self.camshaft(*once).stdout)

    def test_duration(self):
        plan, _ = self.compile_dense()
        document = self.document("bench", plan, "--warmup", "0", "--duration", "0.05")
        self.assertGreaterEqual(document["seconds"], 0.05)
        self.camshaft("bench", plan, "--duration", "1", "--iterations", "1", code=USAGE)
        # A run that is due after the end isn't waited for.
        for rate in ("1e-9", "1e-300"):
            document = self.document("bench", plan, "--warmup", "0", "--rate", rate, "--duration",
                                     "0.05")
            self.assertEqual(document["runs"], 1)
            self.assertGreaterEqual(document["seconds"], 0.05)

    def test_pinning(self):
        plan, _ = self.compile_dense()
        cpu = min(os.sched_getaffinity(0))
        self.assertEqual(self.bench(plan, "--pin", str(cpu))["settings"]["pin"], str(cpu))
        self.camshaft("bench", plan, "--pin", "x", code=USAGE)
        self.assertIn("CPU 1023", self.camshaft("bench", plan, "--pin", "1023", code=USAGE).stderr)

    def test_pinning_each_of_two_threads(self):
        cpus = sorted(os.sched_getaffinity(0))[:2]
        if len(cpus) < 2:
            self.skipTest("one CPU")
        models.make_convolutions(self.path("m.onnx"))
        self.camshaft("compile", self.path("m.onnx"), "-o", self.path("m.plan"), "--threads", "2")
        pinned = ",".join(map(str, cpus))
        # Two sessions, one after the other.
        self.assertTrue(self.bench(self.path("m.plan"), "--pin", pinned, "--kernels")["kernels"])

    def test_kernels_and_the_profile_that_inspect_reads(self):
        models.make_convolutions(self.path("m.onnx"))
        self.camshaft("compile", self.path("m.onnx"), "-o", self.path("m.plan"))
        document = self.bench(self.path("m.plan"), "--kernels")
        self.assertGreater(document["peak"]["gflops"], 0)
        self.assertEqual(len(document["kernels"]), 2)
        for kernel in document["kernels"]:
            self.assert_members(kernel, {"index": int, "name": str, "description": str,
                                         "kernel": str, "strategy": str, "parts": int, "flops": int,
                                         "bytes": int, "flops_share": float, "us": float,
                                         "gflops": float, "peak_share": float})
            self.assertGreater(kernel["us"], 0)
        self.assertAlmostEqual(sum(k["time_share"] for k in document["kernels"]), 1)
        with open(self.path("profile.json"), "w", encoding="utf-8") as f:
            json.dump(document, f)
        inspect = ["inspect", self.path("m.plan"), "--kernels", "--profile",
                   self.path("profile.json")]
        for shown, measured in zip(self.document(*inspect)["kernels"], document["kernels"]):
            self.assertEqual(shown["name"], measured["name"])
            for figure in ("us", "time_share", "gflops", "gbytes_per_s", "peak_share"):
                self.assertAlmostEqual(shown[figure], measured[figure])
        self.assertIn("GFLOP/s", self.camshaft(*inspect).stdout)
        dense, _ = self.compile_dense()
        self.camshaft("inspect", dense, "--kernels", "--profile", self.path("profile.json"),
                      code=USAGE)


class Inspect(models.CommandTest):
    def test_pages_and_documents(self):
        models.make_convolutions(self.path("m.onnx"))
        self.camshaft("compile", self.path("m.onnx"), "-o", self.path("m.plan"), "--target",
                      "llvm,cpu")
        plan = self.path("m.plan")
        document = self.document("inspect", plan)
        self.assert_members(document, {
            "format_version": int, "file_bytes": int, "signer": type(None), "model": str,
            "model_digest": str, "producer": str, "dtype": str, "inputs": list, "outputs": list, "targets": list,
            "goldens": list, "sections": list})
        self.assertEqual(document["inputs"][0]["shape"], [1, 3, 8, 8])
        whole = self.camshaft("inspect", plan).stdout
        self.assertIn("sections", whole)
        for target in ("cpu", "llvm"):
            page = self.camshaft("inspect", plan, "--target", target).stdout
            self.assertEqual(re.findall(r"(?m)^target (\w+):", page), [target])
            self.assertLess(len(page), len(whole))
        self.assertEqual(len(re.findall(r"(?m)^target ", whole)), 2)
        self.camshaft("inspect", plan, "--target", "cuda", code=USAGE)
        self.camshaft("inspect", plan, "--target", "cpu", "--diff", plan, code=USAGE)

        kernels = self.document("inspect", plan, "--kernels", "--target", "cpu")
        self.assertTrue(kernels["target"].startswith("cpu:"))
        self.assertEqual(len(kernels["kernels"]), 2)
        # 2 * 64 pixels * 8 outputs * 9 taps * (3 or 8) inputs are multiply-adds alone.
        self.assertGreaterEqual(kernels["kernels"][0]["flops"], 2 * 64 * 8 * 27)
        self.assertIn("conv1", self.camshaft("inspect", plan, "--kernels").stdout)

        memory = self.document("inspect", plan, "--memory")["memory"]
        self.assertTrue(memory["blocks"])
        for block in memory["blocks"]:
            self.assertLessEqual(block["offset"] + block["bytes"], memory["arena_bytes"])
        self.camshaft("inspect", plan, "--memory")

    def test_source(self):
        plan, _ = self.compile_dense()
        kernel = self.document("inspect", plan, "--kernels")["kernels"][0]
        texts = [self.document("inspect", plan, "--source", name)["source"]
                 for name in (kernel["kernel"], kernel["name"], "0")]
        self.assertIn(kernel["kernel"] + "(", texts[0])
        self.assertEqual(texts[0], texts[1])
        self.assertEqual(texts[0], texts[2])
        self.assertIn(texts[0].splitlines()[0],
                      self.camshaft("inspect", plan, "--source", "all").stdout)
        self.camshaft("inspect", plan, "--source", "none", code=USAGE)
        bare, _ = self.compile_dense("--no-source", name="bare")
        self.camshaft("inspect", bare, "--source", "all", code=USAGE)

    def test_graph(self):
        models.make_convolutions(self.path("m.onnx"))
        self.camshaft("compile", self.path("m.onnx"), "-o", self.path("m.plan"))
        document = self.document("inspect", self.path("m.plan"), "--graph", self.path("g.svg"))
        root = xml.parse(self.path("g.svg")).getroot()
        svg = "{http://www.w3.org/2000/svg}"
        self.assertEqual(len(root.findall(svg + "g")), document["graph"]["nodes"])
        self.assertEqual(document["graph"]["nodes"], 4)  # input, two kernels, output
        self.assertEqual(document["graph"]["edges"], 3)
        self.camshaft("inspect", self.path("m.plan"), "--graph", self.path("g.dot"))
        with open(self.path("g.dot"), encoding="utf-8") as f:
            self.assertTrue(f.read().startswith("digraph"))
        self.camshaft("inspect", self.path("m.plan"), "--graph", self.path("g.jpg"), code=USAGE)
        lost = self.path("none/g.svg")
        document = self.document("inspect", self.path("m.plan"), "--graph", lost, code=USAGE)
        self.assertEqual(document["error"]["sentences"],
                         ["--graph %s: there is no folder %s; make it first" %
                          (lost, self.path("none"))])

    def test_diff(self):
        plan, _ = self.compile_dense()
        again, _ = self.compile_dense(name="again")
        self.assertEqual(self.document("inspect", plan, "--diff", plan)["differences"], [])
        plain, _ = self.compile_dense("--no-fuse", name="plain")
        self.assertTrue(self.document("inspect", plan, "--diff", plain)["differences"])
        self.assertIn("target", self.camshaft("inspect", plan, "--diff", plain).stdout)


class Compare(models.CommandTest):
    def test_against_onnxruntime_and_the_oracle(self):
        models.make_convolutions(self.path("m.onnx"))
        for target in ("llvm", "cpu"):
            self.camshaft("compile", self.path("m.onnx"), "-o", self.path("m.plan"), "--target",
                          target)
            for engine in ("onnxruntime", "oracle"):
                document = self.document("compare", self.path("m.plan"), "--ref",
                                         self.path("m.onnx"), "--engine", engine)
                self.assertTrue(document["within"])
                self.assertEqual(document["reference"]["engine"], engine)
                self.assertEqual(document["trials"], 3)
                self.assert_members(document["outputs"][0], {
                    "name": str, "within": bool, "elements": int, "outside": int, "max_abs": float,
                    "max_rel": float, "rms": float, "cosine": float, "worst": dict})
                self.assertEqual(document["outputs"][0]["elements"], 3 * 8 * 8 * 8)
                self.assertGreater(document["outputs"][0]["snr_db"], 100)

    def test_integers_are_drawn_from_their_range(self):
        models.make_typed(
            self.path("m.onnx"), {"x": (TensorProto.UINT8, [500]), "i": (TensorProto.INT64, [9])},
            [helper.make_node("Cast", ["x"], ["f"], to=TensorProto.FLOAT),
             helper.make_node("Gather", ["f", "i"], ["y"])],
            {"y": (TensorProto.FLOAT, [9])})
        self.camshaft("compile", self.path("m.onnx"), "-o", self.path("m.plan"))
        compare = ["compare", self.path("m.plan"), "--ref", self.path("m.onnx"), "--trials", "1"]
        self.camshaft(*compare)
        self.camshaft(*compare, "--range", "i=-500:499")
        self.camshaft(*compare, "--range", "j=0:1", code=USAGE)

    def test_ranges_are_of_numbers_that_the_input_can_hold(self):
        plan, _ = self.compile_dense()
        compare = ["compare", plan, "--ref", self.path("dense.onnx"), "--trials", "1", "--range"]
        self.camshaft(*compare, "x=-1e30:1e30")
        for wide in ("x=0:1e39", "x=-4e38:0", "x=-1e308:1e308"):
            self.assertIn("the input's type, f32, can hold",
                          self.camshaft(*compare, wide, code=USAGE).stderr)
        for unfit in ("x=-inf:0", "x=0:nan"):
            self.assertIn("write NAME=LOW:HIGH",
                          self.camshaft(*compare, unfit, code=USAGE).stderr)
        # What overflows in both is the same, and not worth much.
        e2e.make_model(self.path("m.onnx"), [helper.make_node("Add", ["x", "x"], ["y"])],
                       {"x": [7]}, {"y": [7]})
        self.camshaft("compile", self.path("m.onnx"), "-o", plan)
        done = self.camshaft("compare", plan, "--ref", self.path("m.onnx"), "--trials", "1",
                             "--range", "x=3e38:3.1e38")
        self.assertIn("within; 7 are infinite or NaN in both", done.stdout)

    def test_a_model_with_other_inputs_is_told_as_one_by_both_engines(self):
        plan, _ = self.compile_dense()
        e2e.make_model(self.path("other.onnx"), [helper.make_node("Relu", ["z"], ["y"])],
                       {"z": [3, 5]}, {"y": [3, 5]})
        e2e.make_model(self.path("wider.onnx"), [helper.make_node("Relu", ["x"], ["y"])],
                       {"x": [3, 9]}, {"y": [3, 9]})
        for engine in ("onnxruntime", "oracle"):
            for model in ("other.onnx", "wider.onnx"):
                done = self.camshaft("compare", plan, "--ref", self.path(model), "--engine", engine,
                                     code=USAGE)
                self.assertIn(model, done.stderr)
                self.assertNotIn("--shape", done.stderr)
                if model == "other.onnx":
                    self.assertIn("the inputs are different", done.stderr)

    def test_another_model_is_outside(self):
        plan, _ = self.compile_dense()
        models.make_dense(self.path("other.onnx"), seed=7)
        compare = ["compare", plan, "--ref", self.path("other.onnx"), "--trials", "1"]
        document = self.document(*compare, code=OUTSIDE)
        self.assertTrue(document["error"]["sentences"][0].endswith("other.onnx"))  # no caveats
        self.assertFalse(document["within"])
        self.assertGreater(document["outputs"][0]["outside"], 0)
        self.assertIn("expected", self.camshaft(*compare, code=OUTSIDE).stdout)
        self.camshaft(*compare, "--atol", "1000")

    def test_a_narrow_plan_that_is_outside_is_told_as_such(self):
        models.make_dense(self.path("m.onnx"))
        for dtype in ("f16", "bf16"):
            self.camshaft("compile", self.path("m.onnx"), "-o", self.path("m.plan"), "--dtype", dtype)
            compare = ["compare", self.path("m.plan"), "--ref", self.path("m.onnx")]
            exactly = [*compare, "--rtol", "0", "--atol", "0"]
            (sentence,) = self.document(*exactly, code=OUTSIDE)["error"]["sentences"]
            self.assertIn("relative rms", self.camshaft(*exactly, code=OUTSIDE).stdout)
            self.assertIn("the plan stores %s: --rtol and --atol must allow" % dtype, sentence)
            error = self.document(*compare, "--atol", "1")["outputs"][0]["relative_rms"]
            self.assertGreater(error, 1e-5)
            self.assertLess(error, 1e-2)

    def test_a_narrow_plan_that_overflows_is_told_to_be_compiled_wide(self):
        weights = {"w": np.full((4, 4), 300, np.float32)}
        e2e.make_model(self.path("m.onnx"), [helper.make_node("MatMul", ["x", "w"], ["a"]),
                                             helper.make_node("MatMul", ["a", "w"], ["y"])],
                       {"x": [4, 4]}, {"y": [4, 4]}, weights)
        self.camshaft("compile", self.path("m.onnx"), "-o", self.path("m.plan"), "--dtype", "f16")
        document = self.document("compare", self.path("m.plan"), "--ref", self.path("m.onnx"),
                                 "--range", "x=100:101", code=OUTSIDE)
        self.assertIn("the plan stores f16, which may not hold its values",
                      document["error"]["sentences"][0])
        self.assertIsNone(document["outputs"][0]["relative_rms"])

    def test_outside_of_a_quantized_model_by_onnxruntime_names_the_oracle(self):
        for name, scale in (("m", 0.5), ("other", 0.25)):
            models.make_typed(self.path(name + ".onnx"), {"x": (TensorProto.UINT8, [7])},
                              [helper.make_node("DequantizeLinear", ["x", "s"], ["y"])],
                              {"y": (TensorProto.FLOAT, [7])}, weights={"s": np.float32(scale)})
        self.camshaft("compile", self.path("m.onnx"), "-o", self.path("m.plan"))
        for engine in ("onnxruntime", "oracle"):
            compare = ["compare", self.path("m.plan"), "--engine", engine, "--ref"]
            self.camshaft(*compare, self.path("m.onnx"))
            done = self.camshaft(*compare, self.path("other.onnx"), code=OUTSIDE)
            check = self.assertIn if engine == "onnxruntime" else self.assertNotIn
            check("--engine oracle is the exact reference", done.stderr)

    def test_a_model_with_other_outputs_is_no_reference(self):
        plan, _ = self.compile_dense()
        e2e.make_model(self.path("other.onnx"), [helper.make_node("Relu", ["x"], ["z"])],
                       {"x": [3, 8]}, {"z": [3, 8]})
        for engine in ("onnxruntime", "oracle"):
            done = self.camshaft("compare", plan, "--ref", self.path("other.onnx"), "--engine",
                                 engine, code=USAGE)
            self.assertIn("'y' (f32[3x5])", done.stderr)
        self.camshaft("compare", plan, "--ref", self.path("none.onnx"), code=USAGE)

    def test_what_onnxruntime_can_not_run_is_one_sentence(self):
        plan, _ = self.compile_dense()
        relu = [helper.make_node("Relu", ["x"], ["y"])]
        for name, extents, declared in (("dims", [4, 8], "f32[4x8]"), ("rank", [8], "f32[8]"),
                                        ("free", ["n", 9], "f32[nx9]")):
            e2e.make_model(self.path(name), relu, {"x": extents}, {"y": extents})
            done = self.camshaft("compare", plan, "--ref", self.path(name), code=USAGE)
            self.assertIn("given are 'x' (f32[3x8]); and the model's are 'x' (%s)" % declared,
                          done.stderr)
        models.make_typed(self.path("type"), {"x": (TensorProto.DOUBLE, [3, 8])}, relu,
                          {"y": (TensorProto.DOUBLE, [3, 8])})
        e2e.make_model(self.path("name"), [helper.make_node("Relu", ["z"], ["y"])], {"z": [3, 8]},
                       {"y": [3, 8]})
        np.save(self.path("frame.npy"), np.zeros(4))
        for name, what in (("type", "'x' (f64[3x8])"), ("name", "'z' (f32[3x8])"),
                           ("frame.npy", "this is no ONNX model")):
            done = self.camshaft("compare", plan, "--ref", self.path(name), code=USAGE)
            self.assertIn(self.path(name) + ": ", done.stderr)
            self.assertIn(what, done.stderr)
            self.assertNotIn(".npz", done.stderr)
            self.assertEqual(done.stderr.count("error:"), 1, done.stderr)
        # Which extents are free, any may take.
        e2e.make_model(self.path("any"), relu, {"x": ["n", 8]}, {"y": ["n", 8]})
        self.assertIn("'y'", self.camshaft("compare", plan, "--ref", self.path("any"),
                                           code=USAGE).stderr)

    def test_a_python_that_can_not_run_onnxruntime_is_named(self):
        plan, _ = self.compile_dense()
        with open(self.path("bare"), "w", encoding="utf-8") as f:
            f.write('#!/bin/sh\nexec "%s" -S "$@"\n' % sys.executable)  # without its packages
        os.chmod(self.path("bare"), 0o755)
        for python, what in (("/bin/true", "/bin/true, which CAMSHAFT_PYTHON may name"),
                             ("/bin/false", "exit code 1"),
                             (self.path("bare"), "run tools/setup.sh, or name another Python")):
            with mock.patch.dict(os.environ, {"CAMSHAFT_PYTHON": python}):
                done = self.camshaft("compare", plan, "--ref", self.path("dense.onnx"), code=USAGE)
            self.assertIn(what, done.stderr)
            self.assertNotIn("Traceback", done.stderr)
            self.assertEqual(done.stderr.count("error:"), 1, done.stderr)

    def test_all_that_is_wrong_with_a_reference_is_told(self):
        e2e.make_model(self.path("m.onnx"), [helper.make_node("Relu", ["x"], ["y"]),
                                             helper.make_node("Exp", ["x"], ["z"])],
                       {"x": [2]}, {"y": [2], "z": [2]})
        self.camshaft("compile", self.path("m.onnx"), "-o", self.path("m.plan"))
        e2e.make_model(self.path("other.onnx"), [helper.make_node("Relu", ["x"], ["w"])],
                       {"x": [2]}, {"w": [2]})
        for engine in ("onnxruntime", "oracle"):
            sentences = self.document("compare", self.path("m.plan"), "--ref",
                                      self.path("other.onnx"), "--engine", engine,
                                      code=USAGE)["error"]["sentences"]
            self.assertEqual([s.split("'")[2] for s in sentences], ["y", "z"], sentences)
        models.make_typed(self.path("bad.onnx"), {"x": (TensorProto.FLOAT, [2])},
                          [helper.make_node("StringNormalizer", ["x"], ["y"], name="first"),
                           helper.make_node("StringNormalizer", ["x"], ["z"], name="second")],
                          {"y": (TensorProto.FLOAT, [2]), "z": (TensorProto.FLOAT, [2])})
        done = self.camshaft("compare", self.path("m.plan"), "--ref", self.path("bad.onnx"),
                             "--engine", "oracle", code=UNSUPPORTED)
        self.assertIn("first", done.stderr)
        self.assertIn("second", done.stderr)

    def test_inputs_from_files_are_tried_once(self):
        plan, _ = self.compile_dense()
        np.save(self.path("x.npy"), np.ones((3, 8), np.float32))
        document = self.document("compare", plan, "--ref", self.path("dense.onnx"), "--input",
                                 "x=" + self.path("x.npy"))
        self.assertEqual(document["trials"], 1)

    def test_bisect_tells_model_passes_and_kernels_apart(self):
        # Nothing is wrong here, but without any tolerance the first rounding error is found.
        models.make_convolutions(self.path("m.onnx"))
        self.camshaft("compile", self.path("m.onnx"), "-o", self.path("m.plan"))
        exactly = ["--engine", "oracle", "--bisect", "--atol", "1e-13", "--rtol", "0"]
        self.assertNotIn("bisect", self.document("compare", self.path("m.plan"), "--ref",
                                                 self.path("m.onnx"), "--bisect",
                                                 "--trials", "1"))
        document = self.document("compare", self.path("m.plan"), "--ref", self.path("m.onnx"),
                                 *exactly, code=OUTSIDE)
        # Batch norm goes into the weights, which are rounded; but so are the sums without that.
        self.assertEqual(document["bisect"], {"stage": "none", "pass": "fold_channel_scale"})

        plan, _ = self.compile_dense()
        document = self.document("compare", plan, "--ref", self.path("dense.onnx"), *exactly,
                                 code=OUTSIDE)
        self.assertEqual(document["bisect"]["stage"], "kernel")
        self.assert_members(document["bisect"]["first"], {"value": str, "node": str, "op": str,
                                                          "type": str})
        page = self.camshaft("compare", plan, "--ref", self.path("dense.onnx"), *exactly,
                             code=OUTSIDE).stdout
        self.assertIn("first wrong value", page)

        models.make_dense(self.path("other.onnx"), seed=7)
        document = self.document("compare", plan, "--ref", self.path("other.onnx"), *exactly,
                                 code=OUTSIDE)
        self.assertEqual(document["bisect"]["stage"], "model")
        # Before any work, and so also where nothing would be outside.
        done = self.camshaft("compare", plan, "--ref", plan, "--bisect", code=USAGE)
        self.assertEqual(done.stdout, "")

    def bisect(self, model, *options, compile_options=()):
        """What compare --bisect says of a plan that is outside tolerance, as JSON and as text."""
        self.camshaft("compile", self.path(model), "-o", self.path("m.plan"), *compile_options)
        compare = ["compare", self.path("m.plan"), "--ref", self.path(model), "--bisect", "--trials",
                   "1", *options]
        return (self.document(*compare, code=OUTSIDE)["bisect"],
                self.camshaft(*compare, code=OUTSIDE).stdout)

    def test_bisect_tells_the_rounding_that_was_asked_for_from_faults(self):
        models.make_convolutions(self.path("convolutions.onnx"))
        models.make_dense(self.path("dense.onnx"))
        for model in ("convolutions.onnx", "dense.onnx"):
            for dtype in ("f16", "bf16"):
                document, page = self.bisect(model, compile_options=["--dtype", dtype])
                self.assertEqual(document, {"stage": "dtype", "dtype": dtype})
                self.assertIn("--dtype %s, and the difference is as large as its rounding" % dtype,
                              page)
                self.assertIn("--max-error", page)
        document, _ = self.bisect("convolutions.onnx", compile_options=["--dtype", "bf16",
                                                                        "--no-fuse"])
        self.assertEqual(document, {"stage": "dtype", "dtype": "bf16"})

    def make_scaled(self, name, weight, scale):
        e2e.make_model(self.path(name), [helper.make_node("Conv", ["x", "w"], ["c"]),
                                         helper.make_node("Mul", ["c", "s"], ["y"])],
                       {"x": [1, 3, 4, 4]}, {"y": [1, 4, 4, 4]},
                       {"w": np.full((4, 3, 1, 1), weight, np.float32),
                        "s": np.full((4, 1, 1), scale, np.float32)})

    def test_bisect_blames_a_pass_only_if_it_is_better_without(self):
        # Scaled, the small weights are flushed to zero, as little beside the one that meets zeros.
        self.make_scaled("small.onnx", [[[2]], [[1e-25]], [[1e-25]]], 1.2e-20)
        x = np.full((1, 3, 4, 4), 5e29, np.float32)
        x[:, 0] = 0
        np.save(self.path("x.npy"), x)
        document, page = self.bisect("small.onnx", "--engine", "oracle", "--input",
                                     self.path("x.npy"), "--atol", "0")
        self.assertEqual(document, {"stage": "pass", "pass": "fold_channel_scale"})
        self.assertIn("compile with --disable-pass fold_channel_scale", page)

        # Many sums are half a step, which rounding errors of either way decide about.
        weights = np.random.default_rng(3).integers(-2, 3, (8, 3, 3, 3)).astype(np.int8)
        models.make_typed(
            self.path("steps.onnx"), {"x": (TensorProto.UINT8, [1, 3, 8, 8])},
            [helper.make_node("DequantizeLinear", ["x", "xs", "xz"], ["d"]),
             helper.make_node("DequantizeLinear", ["w", "ws", "wz"], ["f"]),
             helper.make_node("Conv", ["d", "f"], ["c"], pads=[1, 1, 1, 1]),
             helper.make_node("QuantizeLinear", ["c", "ys", "yz"], ["q"]),
             helper.make_node("DequantizeLinear", ["q", "ys", "yz"], ["y"])],
            {"y": (TensorProto.FLOAT, [1, 8, 8, 8])},
            weights={"xs": np.float32(0.1), "xz": np.uint8(121), "w": weights, "ws": np.float32(1),
                     "wz": np.int8(0), "ys": np.float32(0.1) * np.float32(16), "yz": np.uint8(128)})
        document, page = self.bisect("steps.onnx", "--engine", "oracle")
        self.assertEqual(document, {"stage": "none", "pass": "fold_channel_scale"})
        self.assertIn("without it they are outside tolerance too", page)
        self.assertNotIn("--disable-pass", page)

    def test_bisect_of_a_plan_that_is_right_names_the_reference(self):
        # onnxruntime multiplies weight and scale beforehand, which gives infinity.
        self.make_scaled("large.onnx", 1e25, 1e25)
        document, page = self.bisect("large.onnx", "--range", "x=1e-30:2e-30")
        self.assertEqual(document, {"stage": "reference"})
        self.assertIn("it is ONNX Runtime that rounds more", page)


if __name__ == "__main__":
    unittest.main()
