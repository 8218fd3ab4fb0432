# SPDX-License-Identifier: MIT
"""Programs outside of the tree: those of docs/interop.md, compiled as it says, run plans."""

import os
import shutil
import subprocess
import tempfile
import unittest

import command_models as models
import e2e
import numpy as np
from queue_domain import QueueDomain

CXX = os.environ.get("CAMSHAFT_CXX", "clang++-19")
QEMU = shutil.which("qemu-aarch64")
DOCUMENT = os.path.join(e2e.ROOT, "docs", "interop.md")


def block_after(line):
    """The indented block of the document that follows a line which ends so."""
    with open(DOCUMENT, encoding="utf-8") as f:
        text = f.read()
    block = []
    for each in text[text.index(line) + len(line):].splitlines()[1:]:
        if each and not each.startswith("    "):
            break
        block.append(each[4:])
    return "\n".join(block).strip() + "\n"


def needed_libraries(program):
    """What a program asks the loader for."""
    dump = subprocess.run(["readelf", "-dW", program], capture_output=True, text=True, check=True)
    return [line.split("[")[1].rstrip("]") for line in dump.stdout.splitlines()
            if "(NEEDED)" in line]


class Embedding(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        cls.model = os.path.join(cls.folder, "m.onnx")
        cls.weights = models.make_dense(cls.model)

    def path(self, name):
        return os.path.join(self.folder, name)

    def plan(self, target):
        done = e2e.camshaft("compile", self.model, "--target", target, "-o", self.path("m.plan"))
        self.assertEqual(done.returncode, 0, done.stderr)
        return self.path("m.plan")

    def expected(self):
        """What the programs print of the plan, whose input they fill with 0.5."""
        y = np.maximum(0.5 * self.weights["w"].sum(axis=0) + self.weights["b"], 0)
        return float(y[0]), "is the first of %d bytes" % (4 * 3 * y.size)

    def compile(self, program, text, package, *options):
        """Compiles the text of a C++ program by a package's flags; returns the program's path."""
        with open(self.path(program + ".cc"), "w", encoding="utf-8") as f:
            f.write(text)
        flags = subprocess.run(["pkg-config", "--cflags", "--libs", package], capture_output=True,
                               text=True, check=True).stdout.split()
        done = subprocess.run([*CXX.split(), *options, program + ".cc", *flags, "-o", program],
                              cwd=self.folder, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return self.path(program)

    def check(self, *command):
        done = subprocess.run(command, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        first, rest = done.stdout.strip().split(" ", 1)
        value, text = self.expected()
        self.assertAlmostEqual(float(first), value, delta=1e-4 * max(1, abs(value)))
        self.assertEqual(rest, text)

    def main_cc(self):
        return block_after("A whole `main.cc`, for a plan\nwhose input is f32:")

    def test_a_program_by_the_desktop_build(self):
        program = self.compile("desktop", self.main_cc(), os.path.join(e2e.BUILD, "camshaft.pc"))
        self.check(program, self.plan("cpu"))
        done = subprocess.run([program, self.path("none.plan")], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("can't open " + self.path("none.plan"), done.stderr)

    @unittest.skipUnless(os.path.exists(os.path.join(e2e.BUILD, "runtime/camshaft.pc")),
                         "no device build")
    def test_a_program_by_the_device_build_needs_only_the_c_library(self):
        package = os.path.join(e2e.BUILD, "runtime", "camshaft.pc")
        program = self.compile("device", self.main_cc(), package)
        self.check(program, self.plan("cpu"))
        for library in needed_libraries(program):
            self.assertRegex(library, r"^(libc|libm|ld-linux[-_a-z0-9]*)\.so")

    @unittest.skipUnless(QEMU and os.path.exists(os.path.join(
        e2e.BUILD, "runtime-aarch64/camshaft.pc")), "no AArch64 device build, or no qemu-aarch64")
    def test_a_program_for_aarch64(self):
        package = os.path.join(e2e.BUILD, "runtime-aarch64", "camshaft.pc")
        program = self.compile("arm", self.main_cc(), package, "--target=aarch64-linux-gnu")
        self.check(QEMU, "-cpu", "cortex-a76", "-L", "/usr/aarch64-linux-gnu", program,
                   self.plan("cpu:cortex-a76"))

    @unittest.skipUnless(os.path.exists(os.path.join(e2e.BUILD, "runtime/libcamshaft.so")),
                         "no device build")
    def test_a_program_in_c(self):
        with open(self.path("main.c"), "w", encoding="utf-8") as f:
            f.write(block_after("A whole `main.c`, for a plan whose input is f32:"))
        library = os.path.join(e2e.BUILD, "runtime")
        done = subprocess.run(
            [*CXX.split(), "-x", "c", "main.c", "-x", "none", "-I" + e2e.ROOT + "/runtime/capi",
             "-L" + library, "-lcamshaft", "-Wl,-rpath," + library, "-o", "c"], cwd=self.folder,
            capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.check(self.path("c"), self.plan("cpu"))

    def test_a_program_with_messages(self):
        with open(os.path.join(e2e.ROOT, "tools/examples/controls_by_speed.cc"),
                  encoding="utf-8") as f:
            program = self.compile("controls", f.read(),
                                   os.path.join(e2e.BUILD, "camshaft_msgq.pc"))
        with QueueDomain() as domain:
            done = subprocess.run([program, "0"], capture_output=True, text=True,
                                  env=dict(os.environ, CAMSHAFT_PREFIX=domain.prefix))
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_what_a_package_lacks_does_not_link(self):
        text = ('#include "codegen/emit/compile.h"\n'
                "int main() {\n"
                '  return camshaft::emit::compile_onnx("", {}, nullptr, nullptr).has_value();\n'
                "}\n")
        with self.assertRaisesRegex(AssertionError, "undefined"):
            self.compile("compiler", text, os.path.join(e2e.BUILD, "camshaft.pc"))


if __name__ == "__main__":
    unittest.main()
