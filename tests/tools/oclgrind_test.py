# SPDX-License-Identifier: MIT
"""tools/oclgrind: what it makes of a plan's launches, which parts a quick check runs, its results;
where oclgrind is installed, that planted faults are found."""

import io
import json
import os
import re
import shutil
import stat
import sys
import tempfile
import unittest
from unittest import mock

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tools"))

from oclgrind import command, launches, planted, runs, simulation  # noqa: E402
from oclgrind.launches import Argument, Launch  # noqa: E402

# As a plan has it: a body, and the kernel.
ITEM_KERNEL = """
void k_body(__global const uchar* restrict params_0, ulong params_at_0, \
__global uchar* restrict params_1, ulong params_at_1, const int shared_iteration) {
  __global const float* restrict x0 = (__global const float*)(params_0 + params_at_0);
  __global ELEMENT* restrict out = (__global ELEMENT*)(params_1 + params_at_1);
  const int t = shared_iteration;
  const int y = t / 64;
  const int x = t % 64;
  BODY
}

__kernel void k(__global const uchar* restrict params_0, ulong params_at_0, \
__global uchar* restrict params_1, ulong params_at_1) {
  k_body(params_0, params_at_0, params_1, params_at_1, get_global_id(0));
}
"""


def item_launch(body, count=4096):
    text = ITEM_KERNEL.replace("BODY", body).replace("ELEMENT", "float")
    return Launch("k", text, count, 1, launches.arguments_of("k", text, (4 * count, 4 * count)))


class Launches(unittest.TestCase):
    def test_arguments_are_typed_by_the_text(self):
        self.assertEqual(launches.arguments_of("k", ITEM_KERNEL.replace("ELEMENT", "ushort"),
                                               (64, 32)),
                         (Argument(64, "float", False), Argument(32, "ushort", True)))

    def test_what_cannot_be_run_is_refused(self):
        image = ITEM_KERNEL.replace("__kernel void k(", "__kernel void k(read_only image2d_t a, ")
        for text, sizes in ((image, (64, 32)), (ITEM_KERNEL, (64, 32, 8)), ("", (64,))):
            with self.assertRaises(launches.Unsupported):
                launches.arguments_of("k", text, sizes)

    def test_reads_of_what_nobody_wrote(self):
        def kernel(*spans):
            return {"launch": {"arguments": [
                {"space": "arena", "offset": offset, "bytes": size} for offset, size in spans]}}

        launch = Launch("k", "", 1, 1, (Argument(0, "float", False), Argument(0, "float", True)))
        first = Launch("f", "", 1, 1, (Argument(0, "float", True),))
        writes = kernel((0, 128))
        self.assertEqual(launches.check_arena([writes, kernel((64, 64), (128, 4))],
                                              [first, launch]), [])
        [sentence] = launches.check_arena([writes, kernel((64, 65), (128, 4))], [first, launch])
        self.assertIn("k reads bytes 64 to 129", sentence)
        # What it writes itself comes too late.
        self.assertEqual(len(launches.check_arena([kernel((0, 4), (0, 4))], [launch])), 1)


class Simulations(unittest.TestCase):
    def test_floats_are_all_different_and_as_many_as_fit(self):
        for count in (1, 2, 3, 16, 333, 2 ** 20 + 1):
            words = simulation.fill(Argument(4 * count, "float", False))
            first, step, last = map(float, re.fullmatch(r"float range=(.+):(.+):(.+)",
                                                        words).groups())
            self.assertEqual((last - first + step) / step, count)
            self.assertLessEqual(max(abs(first), abs(last)), 16)

    def test_a_quick_check_runs_ends_and_borders(self):
        parts = simulation.chosen_parts(item_launch("out[t] = x0[t];"))
        for wanted in (0, 63, 64, 4032, 4031, 4095):
            self.assertIn(wanted, parts)
        self.assertLess(len(parts), 20)
        self.assertEqual(simulation.chosen_parts(item_launch("out[t] = x0[t];", 1)), [0])
        self.assertTrue(any(900 < part < 3000 for part in parts))
        self.assertLess(max(parts), 4096)

    def test_groups_of_items_cut_them_evenly(self):
        for items, group in ((4096, 64), (37, 37), (67, 1), (96, 48)):
            self.assertEqual(simulation.together(items, 1), group)
        self.assertEqual(simulation.together(1024, 256), 256)


class Results(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.out = os.path.join(self.folder, "out.txt")
        with open(os.path.join(self.folder, "list.json"), "w", encoding="utf-8") as f:
            json.dump([{"name": name, "kernel": "k", "parts": 1, "of": 2, "unit": "groups",
                        "cost": cost} for name, cost in (("short", 1), ("long", 2))], f)

    def program(self, script):
        """Stands for oclgrind-kernel: called with a file's name."""
        path = os.path.join(self.folder, "program")
        with open(path, "w", encoding="utf-8") as f:
            f.write("#!/bin/sh\n" + script)
        os.chmod(path, stat.S_IRWXU)
        return path

    def lines(self):
        with open(self.out, encoding="utf-8") as f:
            return f.read().splitlines()

    def test_the_longest_first_and_nothing_twice(self):
        program = self.program("exit 0")
        self.assertEqual(runs.run_all(self.folder, self.out, 1, program=program), (2, [], []))
        self.assertEqual([line.split("\t")[0] for line in self.lines()], ["long", "short"])
        self.assertEqual(runs.run_all(self.folder, self.out, 1, program=program), (0, [], []))
        self.assertEqual(len(self.lines()), 2)

    def test_each_kind_of_finding(self):
        for script, said in (("echo 'Invalid read' > $OCLGRIND_LOG", "Invalid read"),
                             ("echo ' out[1] = 0x7fa5a5a5'", "1 words of what it writes"),
                             ("echo boom; exit 3", "ended with 3: boom")):
            out = self.out + said
            _, dirty, _ = runs.run_all(self.folder, out, 2, program=self.program(script))
            self.assertEqual(sorted(dirty), ["long", "short"])
            with open(out, encoding="utf-8") as f:
                self.assertIn(said, f.read())

    def test_what_was_ended_by_the_limit_is_not_done(self):
        waits = self.program("exec sleep 1000")
        clean, dirty, late = runs.run_all(self.folder, self.out, 2, 0.05, waits)
        self.assertEqual((clean, dirty, sorted(late)), (0, [], ["long", "short"]))
        self.assertEqual(runs.run_all(self.folder, self.out, 2, None, self.program("exit 0"))[0], 2)


class Command(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        # Stands for the command: says how it was called, and fails.
        path = os.path.join(self.folder, "camshaft")
        with open(path, "w", encoding="utf-8") as f:
            f.write("#!/bin/sh\necho $* >&2; exit 1")
        os.chmod(path, stat.S_IRWXU)

    def run_it(self, *arguments):
        with mock.patch("sys.stdout", io.StringIO()):
            return command.main(["--build", self.folder, "--prepare",
                                 os.path.join(self.folder, "out"), *arguments])

    def test_a_network_that_is_not_there_is_an_error(self):
        self.assertEqual(self.run_it(__file__, "/no/net.onnx"),
                         "/no/net.onnx: there is no such file")

    def test_nothing_to_check_is_an_error(self):
        with mock.patch.object(command, "NETWORKS", ("/no/net.onnx",)):
            self.assertEqual(self.run_it(), "there is nothing to check")

    def test_compile_gets_what_follows_two_dashes(self):
        said = self.run_it("--quick", __file__, "--", "--dtype", "f16", "--shape", "x=1x3")
        self.assertTrue(said.startswith("compile %s --target opencl" % __file__), said)
        self.assertTrue(said.endswith(" --dtype f16 --shape x=1x3\n"), said)


@unittest.skipUnless(shutil.which("oclgrind-kernel"), "oclgrind is not on this machine")
class Oclgrind(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def test_planted_faults_are_found(self):
        count, wrong = planted.check_planted(self.folder)
        self.assertGreater(count, 10)
        self.assertEqual(wrong, [])

    def test_faults_of_items_in_a_quick_check(self):
        for body, wanted in (("out[t] = x0[t];", None),
                             ("out[t] = x0[t + (y == 63 & x == 0 ? 64 : 0)];", "Invalid read"),
                             ("float v; if (t != 63) v = x0[t]; out[t] = v;", "Uninitialized")):
            simulation.write_simulation(item_launch(body), self.folder, "k", False)
            findings = runs.run_simulation(self.folder, "k").findings
            if wanted is None:
                self.assertEqual(findings, [])
            else:
                self.assertTrue(any(wanted in finding for finding in findings), findings)


if __name__ == "__main__":
    unittest.main()
