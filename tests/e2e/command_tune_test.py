# SPDX-License-Identifier: MIT
"""Tuning through the command: choices are measured once, kept, and taken again."""

import json
import os
import subprocess
import unittest

import command_models as models
import e2e
import numpy as np
from command_models import DAMAGED, USAGE, WRONG_TARGET
from onnx import helper

TARGETS = "llvm,cpu"


def make_layers(path, channels=32):
    """Convolutions that have several candidates, one of them twice."""
    rng = np.random.default_rng(3)

    def weight(*shape):
        return (rng.standard_normal(shape) / np.sqrt(np.prod(shape[1:]))).astype(np.float32)

    weights = {"a": weight(channels, 8, 1, 1), "b": weight(channels, channels, 3, 3),
               "c": weight(channels, channels, 3, 3), "d": weight(16, channels, 1, 1)}
    nodes = [helper.make_node("Conv", ["x", "a"], ["p"]),
             helper.make_node("Conv", ["p", "b"], ["q"], pads=[1, 1, 1, 1]),
             helper.make_node("Conv", ["q", "c"], ["r"], pads=[1, 1, 1, 1]),
             helper.make_node("Conv", ["r", "d"], ["y"])]
    e2e.make_model(path, nodes, {"x": [1, 8, 24, 24]}, {"y": [1, 16, 24, 24]}, weights)


class Tune(models.CommandTest):
    def setUp(self):
        super().setUp()
        make_layers(self.path("m.onnx"))
        self.db = self.path("m.tuning")

    def compile(self, name, *options, code=0):
        return self.document("compile", self.path("m.onnx"), "-o", self.path(name), "--target",
                             TARGETS, *options, code=code)

    def entries(self):
        with open(self.db) as file:
            head, *lines = file.read().splitlines()
        self.assertEqual(head, "camshaft-tuning-1")
        return [json.loads(line) for line in lines]

    def rewrite(self, changed):
        """Passes each entry of the database through a function."""
        entries = self.entries()
        with open(self.db, "w") as file:
            file.write("\n".join(["camshaft-tuning-1", *(json.dumps(changed(e)) for e in entries)]) +
                       "\n")

    def test_what_was_measured_is_kept_and_taken_again(self):
        document = self.document("tune", self.path("m.onnx"), "--target", TARGETS, "--tuning-db",
                                 self.db, "--tune", "0.2")
        self.assertEqual([t["target"].split(":")[0] for t in document["tuning"]], ["llvm", "cpu"])
        for target in document["tuning"]:
            # Both 3x3 convolutions are one kind of region.
            self.assertEqual(target["regions"], 3)
            self.assertGreater(target["candidates"], 2)
            self.assertEqual(target["refused"], 0)
        entries = self.entries()
        self.assertEqual((document["entries"], len(entries)), (6, 6))
        for entry in entries:
            self.assertLessEqual(entry["us"], entry["untuned_us"])
        again = self.document("tune", self.path("m.onnx"), "--target", TARGETS, "--tuning-db",
                              self.db, "--tune", "0.2")
        self.assertEqual(again["tuning"], [])  # all is decided
        self.assertEqual(self.entries(), entries)

    def write_entries(self):
        """A database with an entry for each region, made by the command."""
        self.document("tune", self.path("m.onnx"), "--target", TARGETS, "--tuning-db", self.db,
                      "--tune", "0.1")
        self.assertEqual(len(self.entries()), 6)

    def test_frozen_takes_the_database_and_gives_the_same_bytes(self):
        self.write_entries()
        hashes = {self.compile(name, "--frozen", "--tuning-db", self.db)["hash"]
                  for name in ("a.plan", "b.plan")}
        self.assertEqual(len(hashes), 1)
        self.camshaft("compare", self.path("a.plan"), "--ref", self.path("m.onnx"))
        # Other threads are other entries.
        done = self.camshaft("compile", self.path("m.onnx"), "-o", self.path("c.plan"), "--threads",
                             "2", "--frozen", "--tuning-db", self.db, code=USAGE)
        self.assertIn("0 of 4 regions are in " + self.db, done.stderr)
        self.assertFalse(os.path.exists(self.path("c.plan")))

    def test_a_dtype_has_entries_of_its_own(self):
        model = self.path("m.onnx")
        self.document("tune", model, "--dtype", "f16", "--tuning-db", self.db, "--tune", "0.1")
        compile_it = ["compile", model, "-o", self.path("a.plan"), "--tuning-db", self.db]
        notes = self.document(*compile_it, "--dtype", "f16", "--frozen")["notes"]
        self.assertEqual([n for n in notes if "can only store f16" not in n], [])
        [note] = self.document(*compile_it)["notes"]
        self.assertIn("0 of 4 regions are in " + self.db, note)
        self.assertIn("--dtype", self.camshaft(*compile_it, "--frozen", code=USAGE).stderr)

    def test_a_file_that_decides_nothing_is_told(self):
        with open(self.db, "w") as file:
            file.write("camshaft-tuning-1\n")
        compile_it = ["-o", self.path("a.plan"), "--tuning-db", self.db]
        [note] = self.document("compile", self.path("m.onnx"), *compile_it)["notes"]
        self.assertIn("0 of 4 regions are in " + self.db, note)
        e2e.make_model(self.path("n.onnx"), [helper.make_node("Exp", ["x"], ["y"])], {"x": [7]},
                       {"y": [7]})
        [note] = self.document("compile", self.path("n.onnx"), *compile_it)["notes"]
        self.assertIn("no region has a choice", note)

    def test_an_entry_decides(self):
        self.write_entries()
        before = self.compile("a.plan", "--tuning-db", self.db)["hash"]
        changed = []

        def with_other_tile(entry):
            if entry["strategy"] != "conv_direct" or "k3x3" in entry["what"]:
                return entry
            changed.append(entry)
            return {**entry, "knobs": "1x1v8u8" if entry["knobs"] != "1x1v8u8" else "2x1v8u8"}

        self.rewrite(with_other_tile)
        self.assertGreater(len(changed), 0)
        document = self.compile("b.plan", "--tuning-db", self.db)
        self.assertNotEqual(document["hash"], before)
        self.camshaft("compare", self.path("b.plan"), "--ref", self.path("m.onnx"))

    def test_an_entry_that_this_compiler_would_not_propose_is_not_taken(self):
        self.write_entries()
        self.rewrite(lambda entry: {**entry, "knobs": "99x9v8u8"})
        done = self.camshaft("compile", self.path("m.onnx"), "-o", self.path("a.plan"), "--target",
                             TARGETS, "--tuning-db", self.db)
        self.assertIn("they get the usual choice", done.stderr)
        self.compile("a.plan", "--tuning-db", self.db, "--frozen", code=USAGE)

    def test_a_database_that_is_none(self):
        for text, line in (("", "is empty"), ("camshaft-tuning-1\n{\"target\":3}\n", "line 2"),
                           ("[]\n", "line 1"), ("camshaft-tuning-2\n", "line 1")):
            with open(self.db, "w") as file:
                file.write(text)
            done = self.camshaft("compile", self.path("m.onnx"), "-o", self.path("a.plan"),
                                 "--tuning-db", self.db, code=DAMAGED)
            self.assertIn(line, done.stderr)
            self.camshaft("tune", self.path("m.onnx"), "--tuning-db", self.db, code=DAMAGED)
            with open(self.db) as file:
                self.assertEqual(file.read(), text)  # nothing is lost

    def test_the_database_beside_roadnet_is_one(self):
        folder = os.path.join(e2e.ROOT, "models", "roadnet")
        self.document("compile", os.path.join(folder, "roadnet.onnx"), "-o", self.path("r.plan"),
                      "--target", "llvm:znver3", "--tuning-db",
                      os.path.join(folder, "roadnet.tuning"))

    def test_options_that_do_not_go_together(self):
        compile_it = ["compile", self.path("m.onnx"), "-o", self.path("a.plan")]
        self.camshaft(*compile_it, "--frozen", code=USAGE)
        self.camshaft(*compile_it, "--frozen", "--tuning-db", self.db, "--tune", "1", code=USAGE)
        done = self.camshaft(*compile_it, "--tuning-db", self.path("none"), code=USAGE)
        self.assertIn("none", done.stderr)
        self.camshaft("tune", self.path("m.onnx"), code=USAGE)
        tune_it = ["tune", self.path("m.onnx"), "--tuning-db", self.db]
        for image in (("--images", "on"), ("--image-limit", "64x64"), ("--image-input", "x")):
            self.assertRegex(self.camshaft(*tune_it, *image, code=USAGE).stderr,
                             image[0] + ".* is for GPUs")
        for seconds in ("nan", "inf", "-1", "1e7", "0", "much"):
            self.assertIn("--tune", self.camshaft(*tune_it, "--tune", seconds, code=USAGE).stderr)
        done = self.camshaft(*tune_it, "--tuning-device", "opencl:0", code=USAGE)
        self.assertIn("none of llvm runs there", done.stderr)

    def test_a_target_of_another_machine_is_left_out(self):
        tune_it = ["tune", self.path("m.onnx"), "--tuning-db", self.db, "--tune", "0.1"]
        document = self.document(*tune_it, "--target", "llvm:cortex-a76,cpu")
        self.assertEqual([t["target"].split(":")[0] for t in document["tuning"]], ["cpu"])
        self.assertIn("can't run it", document["notes"][0])
        entries = self.entries()
        # Where it is the only one, nothing is tuned, also while others are decided already.
        document = self.document(*tune_it, "--target", "llvm:cortex-a76", code=WRONG_TARGET)
        self.assertEqual(len(document["error"]["sentences"]), 1)
        self.assertIn("llvm:cortex-a76", document["error"]["sentences"][0])
        self.assertEqual(self.entries(), entries)
        self.document(*tune_it, "--target", "llvm:cortex-a76,cpu")

    def test_two_at_the_same_time_both_keep_what_they_found(self):
        running = [subprocess.Popen([e2e.CAMSHAFT, "tune", self.path("m.onnx"), "--target", target,
                                     "--tuning-db", self.db, "--tune", "0.1"],
                                    stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
                   for target in TARGETS.split(",")]
        for process in running:
            _, errors = process.communicate()
            self.assertEqual(process.returncode, 0, errors)
        self.assertEqual(len(self.entries()), 6)
        self.assertEqual(sorted(os.listdir(self.folder)), ["m.onnx", "m.tuning"])

    def test_a_database_that_can_not_be_written_is_one_sentence(self):
        # /proc/self is a folder in which nobody can make files, not even root.
        for db in (self.path("none/x.tuning"), "/proc/self/x.tuning", self.folder):
            for verb in (["tune"], ["compile", "-o", self.path("a.plan")]):
                document = self.document(*verb, self.path("m.onnx"), "--tuning-db", db, "--tune",
                                         "0.1", code=USAGE)
                self.assertEqual(len(document["error"]["sentences"]), 1)
                self.assertTrue(document["error"]["sentences"][0].startswith("--tuning-db " + db))


if __name__ == "__main__":
    unittest.main()
