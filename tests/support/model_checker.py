# SPDX-License-Identifier: MIT
"""Protocols as models for the checker spin: right as they are, and wrong with any part taken out."""

import os
import re
import shutil
import subprocess
import tempfile
import unittest


def errors(model, *defines, optimize="-O2"):
    """How many errors spin finds (it stops at the first), having seen all states where there is none."""
    with tempfile.TemporaryDirectory() as folder:
        def run(*command):
            return subprocess.run(command, cwd=folder, check=True, text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT).stdout
        compiler = os.environ.get("CAMSHAFT_CXX", "clang++-19").replace("clang++", "clang")
        run("spin", "-P%s -E -x c" % compiler, "-a", *["-D" + d for d in defines],
            os.path.abspath(model))
        run(compiler, "-w", optimize, "-DSAFETY", "-o", "pan", "pan.c")
        said = run("./pan", "-m100000")
    if "search not completed" in said.lower() and "errors: 0" in said:
        raise AssertionError(said)
    return int(re.search(r"errors: (\d+)", said)[1])


@unittest.skipUnless(shutil.which("spin"), "no model checker: tools/setup.sh installs spin")
class ModelTestCase(unittest.TestCase):
    def check_model(self, model, good, faults):
        """`good` and `faults`: lists of what is defined, without and with an error to be found."""
        for defines in good:
            with self.subTest(model=model, defines=defines):
                self.assertEqual(errors(model, *defines), 0)
        for defines in faults:
            with self.subTest(model=model, fault=defines):
                # Found in few steps: compiling well would take longer.
                self.assertEqual(errors(model, *defines, optimize="-O0"), 1)
