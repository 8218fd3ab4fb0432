# SPDX-License-Identifier: MIT
"""camshaft run, verify and devices: inputs of every kind, damaged files, signatures."""

import json
import os
import subprocess
import unittest

import command_models as models
import e2e
import numpy as np
import onnx
from command_models import DAMAGED, USAGE
from onnx import helper
from PIL import Image


class Run(models.CommandTest):
    def test_arrays_in_arrays_out(self):
        plan, weights = self.compile_dense()
        x = np.random.default_rng(4).standard_normal((3, 8)).astype(np.float32)
        np.save(self.path("x.npy"), x)
        np.savez_compressed(self.path("x.npz"), x=x)
        expected = np.maximum(x @ weights["w"] + weights["b"], 0)
        for given in ("x=" + self.path("x.npy"), self.path("x.npz"), self.path("x.npy")):
            document = self.document("run", plan, "--input", given, "--output", self.path("y.npz"))
            with np.load(self.path("y.npz")) as outputs:
                self.assertEqual(outputs.files, ["y"])
                np.testing.assert_allclose(outputs["y"], expected, 1e-4, 1e-5)
            self.assert_members(document, {"plan": str, "model": str, "target": str,
                                           "threads": int, "device": dict, "outputs": list})
            output = document["outputs"][0]
            self.assertEqual((output["name"], output["dtype"], output["shape"]),
                             ("y", "f32", [3, 5]))
            self.assertAlmostEqual(output["summary"]["max"], float(expected.max()), 4)

    def test_named_parts_of_outputs_have_values_and_units(self):
        make = [helper.make_node("Add", ["x", "x"], ["y"])]
        e2e.make_model(self.path("m.onnx"), make, {"x": [6]}, {"y": [6]})
        model = onnx.load(self.path("m.onnx"))
        helper.set_model_props(model, {"camshaft.output_slices": json.dumps(
            [{"name": "lead", "offset": 1, "shape": [2], "unit": "m"},
             {"name": "rest", "offset": 3, "shape": [3]}])})
        onnx.save(model, self.path("m.onnx"))
        self.camshaft("compile", self.path("m.onnx"), "-o", self.path("m.plan"))
        np.save(self.path("x.npy"), np.arange(6, dtype=np.float32))
        run = ["run", self.path("m.plan"), "-i", self.path("x.npy")]
        lead, rest = self.document(*run)["outputs"][0]["slices"]
        self.assertEqual((lead["name"], lead["unit"], lead["values"]), ("lead", "m", [2, 4]))
        self.assertEqual((rest["name"], rest["shape"], rest["values"]), ("rest", [3], [6, 8, 10]))
        self.assertRegex(self.camshaft(*run).stdout, r"(?m)^  \.lead +f32\[2\] .* m +2 4$")
        self.camshaft(*run, "--output", self.path("y.npy"), code=USAGE)
        done = self.camshaft(*run, "--output", self.path("none/y.npz"), code=USAGE)
        self.assertIn("there is no folder", done.stderr)

    def test_random_inputs_only_when_asked_for_and_the_same_for_a_seed(self):
        plan, _ = self.compile_dense()
        self.assertIn("'x' (f32[3x8])", self.camshaft("run", plan, code=USAGE).stderr)
        results = []
        for seed in (1, 1, 2):
            self.camshaft("run", plan, "--random", "--seed", seed, "--output", self.path("y.npz"))
            with np.load(self.path("y.npz")) as outputs:
                results.append(outputs["y"])
        np.testing.assert_array_equal(results[0], results[1])
        self.assertFalse(np.array_equal(results[0], results[2]))

    def test_wrong_inputs_say_what_was_expected(self):
        plan, _ = self.compile_dense()
        np.save(self.path("shape.npy"), np.zeros((8, 3), np.float32))
        np.save(self.path("dtype.npy"), np.zeros((3, 8), np.float64))
        for name, held in (("shape", "f32[8x3]"), ("dtype", "f64[3x8]")):
            done = self.camshaft("run", plan, "--input", "x=" + self.path(name + ".npy"), code=USAGE)
            self.assertIn("f32[3x8]", done.stderr)
            self.assertIn(held, done.stderr)
        done = self.camshaft("run", plan, "--input", "z=" + self.path("shape.npy"), code=USAGE)
        self.assertIn("'x' (f32[3x8])", done.stderr)
        self.camshaft("run", plan, "--input", "x=" + self.path("none.npy"), code=USAGE)
        with open(self.path("cut.npy"), "wb") as f:
            f.write(b"\x93NUMPY\x01")
        self.camshaft("run", plan, "--input", "x=" + self.path("cut.npy"), code=DAMAGED)

    def test_pictures_and_frames(self):
        models.make_pixels(self.path("m.onnx"))
        self.camshaft("compile", self.path("m.onnx"), "-o", self.path("m.plan"))
        luma = np.arange(32, dtype=np.uint8).reshape(4, 8)
        chroma = np.arange(100, 116, dtype=np.uint8).reshape(2, 8)
        with open(self.path("f.nv12"), "wb") as f:
            f.write(luma.tobytes() + chroma.tobytes())
        self.camshaft("run", self.path("m.plan"), "-i", "image=%s:8x4" % self.path("f.nv12"), "-o",
                      self.path("y.npz"))
        with np.load(self.path("y.npz")) as outputs:
            y = outputs["y"][0]
        expected = [luma[::2, ::2], luma[1::2, ::2], luma[::2, 1::2], luma[1::2, 1::2],
                    chroma[:, ::2], chroma[:, 1::2]]
        np.testing.assert_array_equal(y, np.stack(expected))
        self.camshaft("run", self.path("m.plan"), "-i", "image=%s:4x8" % self.path("f.nv12"),
                      code=USAGE)

        e2e.make_model(self.path("p.onnx"), [helper.make_node("Relu", ["x"], ["y"])],
                       {"x": [1, 3, 2, 5]}, {"y": [1, 3, 2, 5]})
        self.camshaft("compile", self.path("p.onnx"), "-o", self.path("p.plan"))
        rgb = np.random.default_rng(5).integers(0, 256, (2, 5, 3), dtype=np.uint8)
        Image.fromarray(rgb).save(self.path("x.png"))
        self.camshaft("run", self.path("p.plan"), "-i", "x=" + self.path("x.png"), "-o",
                      self.path("y.npz"))
        with np.load(self.path("y.npz")) as outputs:
            np.testing.assert_array_equal(outputs["y"][0], rgb.transpose(2, 0, 1))
        Image.fromarray(rgb[:, :4]).save(self.path("x.png"))
        done = self.camshaft("run", self.path("p.plan"), "-i", "x=" + self.path("x.png"), code=USAGE)
        self.assertIn("4x2", done.stderr)

    def test_pipes_that_nobody_uses_are_not_waited_for(self):
        plan, _ = self.compile_dense()
        for name in ("pipe", "pipe.npy", "pipe.npz"):
            os.mkfifo(self.path(name))
        model = self.path("dense.onnx")
        for arguments in (["run", self.path("pipe"), "--random"],
                          ["run", plan, "--random", "--key", self.path("pipe")],
                          ["run", plan, "-i", "x=" + self.path("pipe.npy")],
                          ["run", plan, "--random", "--output", self.path("pipe.npz")],
                          ["compare", plan, "--ref", self.path("pipe")],
                          ["compile", self.path("pipe"), "-o", self.path("p.plan")],
                          ["compile", model, "-o", self.path("pipe")],
                          ["compile", model, "-o", self.path("p.plan"), "--tuning-db",
                           self.path("pipe")]):
            # A limit that only what waits for ever exceeds.
            done = subprocess.run([e2e.CAMSHAFT, *arguments, "--json"], capture_output=True,
                                  text=True, stdin=subprocess.DEVNULL, timeout=600)
            self.assertEqual(done.returncode, USAGE, done.stderr)
            sentences = json.loads(done.stdout)["error"]["sentences"]
            self.assertEqual(len(sentences), 1, sentences)
            self.assertRegex(sentences[0], r"pipe.* pipe")

    def test_standard_input_and_output_are_files_too(self):
        plan, weights = self.compile_dense()
        x = np.ones((3, 8), np.float32)
        np.save(self.path("x.npy"), x)
        os.symlink("/dev/stdin", self.path("in.npy"))
        os.symlink("/dev/stdout", self.path("out.npz"))
        with open(self.path("x.npy"), "rb") as f:
            done = subprocess.run([e2e.CAMSHAFT, "run", plan, "-i", "x=" + self.path("in.npy"),
                                   "--output", self.path("y.npz")], input=f.read(),
                                  stdout=subprocess.PIPE)
        self.assertEqual(done.returncode, 0)
        with np.load(self.path("y.npz")) as outputs:
            expected = np.maximum(x @ weights["w"] + weights["b"], 0)
            np.testing.assert_allclose(outputs["y"], expected, rtol=1e-5, atol=1e-5)
        done = subprocess.run([e2e.CAMSHAFT, "run", plan, "-i", "x=" + self.path("x.npy"),
                               "--output", self.path("out.npz")], stdout=subprocess.PIPE)
        self.assertEqual(done.returncode, 0)
        self.assertTrue(done.stdout.startswith(b"PK"))

    def test_a_target_that_the_plan_lacks_is_told_once(self):
        models.make_dense(self.path("m.onnx"))
        plan = self.path("m.plan")
        self.camshaft("compile", self.path("m.onnx"), "-o", plan, "--target", "llvm,cpu,opencl")
        for verb in ("run", "bench"):
            inputs = ["--random"] if verb == "run" else []
            for target in ("foo", "llvm:foo", "llv"):
                document = self.document(verb, plan, *inputs, "--target", target, code=USAGE)
                (sentence,) = document["error"]["sentences"]
                self.assertIn("the plan has no target '%s'" % target, sentence)
        self.camshaft("run", plan, "--random", "--target", "cpu")

    def test_standard_output_that_is_full_is_an_error(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = subprocess.run([e2e.CAMSHAFT, "devices"], stdout=full, stderr=subprocess.PIPE,
                                  text=True)
        self.assertEqual(done.returncode, USAGE)
        self.assertIn("standard output", done.stderr)


class Damaged(models.CommandTest):
    def test_a_plan_that_is_cut_or_changed_is_refused_by_every_verb(self):
        plan, _ = self.compile_dense()
        with open(plan, "rb") as f:
            whole = f.read()
        changed = bytearray(whole)
        changed[len(whole) // 2] ^= 1
        for bad in (whole[:-1], whole[:64], b"", bytes(changed)):
            with open(self.path("bad.plan"), "wb") as f:
                f.write(bad)
            for verb in (["run", "--random"], ["bench"], ["inspect"], ["verify"],
                         ["compare", "--ref", plan]):
                done = self.camshaft(verb[0], self.path("bad.plan"), *verb[1:], code=DAMAGED)
                self.assertIn("bad.plan", done.stderr)
        self.camshaft("compare", plan, "--ref", self.path("dense.plan"))
        self.camshaft("run", self.path("none.plan"), "--random", code=USAGE)


class Verify(models.CommandTest):
    def test_a_plan_without_goldens_is_checked_as_a_file(self):
        plan, _ = self.compile_dense()
        document = self.document("verify", plan)
        self.assertEqual(document["goldens"], [])
        self.assertEqual(document["signature"], "none")
        self.assertIn("--golden", document["notes"][0])

    def test_signatures(self):
        for name in ("mine", "yours"):
            with open(self.path(name), "wb") as f:
                f.write(os.urandom(32))
        plan, _ = self.compile_dense("--sign", self.path("mine"))
        unsigned, _ = self.compile_dense(name="unsigned")
        signer = self.document("inspect", plan)["signer"]
        with open(self.path("mine.pub"), "w", encoding="utf-8") as f:
            f.write(signer + "\n")
        other, _ = self.compile_dense("--sign", self.path("yours"), name="other")
        self.assertNotEqual(self.document("inspect", other)["signer"], signer)

        self.assertEqual(self.document("verify", plan, "--key", self.path("mine.pub"))["signature"],
                         "good")
        self.assertEqual(self.document("verify", plan)["signature"], "unchecked")
        for bad in (other, unsigned):
            self.camshaft("verify", bad, "--key", self.path("mine.pub"), code=DAMAGED)
            self.camshaft("run", bad, "--random", "--key", self.path("mine.pub"), code=DAMAGED)
        self.camshaft("verify", plan, "--key", self.path("none.pub"), code=USAGE)
        self.assertIn("is no public key", self.camshaft("verify", plan, "--key", plan,
                                                        code=USAGE).stderr)
        done = self.camshaft("compile", self.path("dense.onnx"), "-o", plan, "--sign", plan,
                             code=USAGE)
        self.assertIn("is no signing key", done.stderr)


class Devices(models.CommandTest):
    def test_lists_the_cpu_with_its_features(self):
        document = self.document("devices")
        names = {d["device"]: d for d in document["devices"]}
        self.assert_members(names["cpu"], {"backend": str, "name": str, "arch": str,
                                           "features": list, "threads": int, "memory_bytes": int})
        self.assertGreaterEqual(names["cpu"]["threads"], 1)
        self.assertIn("null", names)
        self.assertIn("cpu", self.camshaft("devices").stdout)


@unittest.skipUnless(os.path.exists(e2e.DEVICE_CAMSHAFT), "no device build in this configuration")
class DeviceBuild(models.CommandTest):
    """Every verb but compile is there; what needs the compiler says that it is missing."""

    def on_device(self, *arguments, code=0):
        return self.document(*arguments, code=code, program=e2e.DEVICE_CAMSHAFT)

    def test_verbs(self):
        np.save(self.path("x.npy"), np.ones((3, 8), np.float32))
        plan, _ = self.compile_dense("--golden", "x=" + self.path("x.npy"))
        self.assertTrue(self.on_device("verify", plan)["goldens"][0]["hash_equal"])
        self.on_device("run", plan, "--random", "--output", self.path("device.npz"))
        self.camshaft("run", plan, "--random", "--output", self.path("desktop.npz"))
        with np.load(self.path("device.npz")) as a, np.load(self.path("desktop.npz")) as b:
            np.testing.assert_array_equal(a["y"], b["y"])
        self.on_device("bench", plan, "--iterations", "3", "--warmup", "0", "--kernels")
        self.on_device("inspect", plan, "--kernels", "--memory", "--source", "0")
        self.on_device("compare", plan, "--ref", plan)
        self.on_device("devices")

    def test_what_needs_the_compiler_is_refused(self):
        plan, _ = self.compile_dense()
        document = self.on_device("compile", self.path("dense.onnx"), "-o", plan, code=USAGE)
        self.assertIn("no compiler", document["error"]["sentences"][0])
        page = self.camshaft("--help", program=e2e.DEVICE_CAMSHAFT).stdout
        self.assertIn("On a desktop only: tune\n", page)
        self.on_device("compare", plan, "--ref", self.path("dense.onnx"), code=USAGE)


class Usage(models.CommandTest):
    def test_help_of_every_verb_and_version(self):
        page = self.camshaft("--help").stdout
        for verb in ("compile", "run", "bench", "inspect", "compare", "devices", "verify"):
            self.assertIn(verb, page)
            help_page = self.camshaft(verb, "--help").stdout
            self.assertIn("--json", help_page)
            self.assertLessEqual(max(map(len, help_page.splitlines())), 100, help_page)
        self.assertRegex(self.camshaft("--version").stdout, r"^camshaft \d+\.\d+\.\d+\n$")

    def test_wrong_usage_is_one_sentence(self):
        for arguments in ([], ["juggle"], ["--fly"], ["run"], ["run", "a", "b"],
                          ["bench", "a", "--duration", "x"], ["bench", "a", "--iterations", "0"],
                          ["bench", "a", "--warmup", "-1"], ["run", "a", "--seed", "x"],
                          ["run", "a", "--seed", "-1"], ["run", "a", "--seed", "9" * 30],
                          ["bench", "a", "--iterations", "9" * 30],
                          ["bench", "a", "--percentiles", ""], ["run", "a", "--device", ""],
                          ["run", "a", "--key", ""], ["bench", "a", "--pin", ""],
                          ["compare", "a"]):
            done = self.camshaft(*arguments, code=USAGE)
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
            self.assertLess(len(done.stderr), 250)
            self.assertEqual(done.stdout, "")
        for option, value, sentence in (
                ("--seed", "-1", "write a whole number from 0 to 18446744073709551615, not '-1'"),
                ("--percentiles", "", "write numbers from 0.000001 to 100"),
                ("--percentiles", "50,101", "write numbers from 0.000001 to 100"),
                ("--device", "", "the name is empty")):
            self.assertIn(option + ": " + sentence,
                          self.camshaft("bench", "a", option, value, code=USAGE).stderr)
        for arguments in (["run", ""], ["inspect", ""], ["compile", "", "-o", "a"],
                          ["compile", "a", "-o", ""], ["run", "a", "--output", ""],
                          ["compile", "a", "-o", "b", "--tuning-db", ""],
                          ["compile", "a", "-o", "b", "--dump", ""], ["inspect", "a", "--diff", ""],
                          ["compile", "a", "-o", "b", "--driver-binary", ""]):
            self.assertIn(": the name is empty", self.camshaft(*arguments, code=USAGE).stderr)
        for arguments, sentence in ((["a", "--threads", "99"], "there is no option --threads;"),
                                    (["a", "--outptu=y.npz"], "(did you mean --output?);"),
                                    (["a", "-x"], "there is no option -x;"),
                                    (["a", "--json=1"], "--json takes no value;"),
                                    (["a", "b", "c"], "'b' is one argument too many;")):
            self.assertIn(sentence, self.camshaft("run", *arguments, code=USAGE).stderr)
        # An option that must be there, but is written in another way.
        for arguments, sentence in ((["a", "--ouput", "b"], "(did you mean --output?)"),
                                    (["a", "-o=b", "b"], "one argument too many;"),
                                    (["a", "b"], "--output is required;")):
            self.assertIn(sentence, self.camshaft("compile", *arguments, code=USAGE).stderr)
        self.assertIn("there is no verb 'inspcet' (did you mean 'inspect'?);",
                      self.camshaft("inspcet", code=USAGE).stderr)
        self.assertNotIn("did you mean", self.camshaft("install", code=USAGE).stderr)
        document = self.document("run", "--nonsense", code=USAGE)
        self.assertEqual(document["error"]["kind"], "invalid argument")
        self.assertTrue(self.camshaft("run", "a", "--json=true", code=USAGE).stdout.startswith("{"))


if __name__ == "__main__":
    unittest.main()
