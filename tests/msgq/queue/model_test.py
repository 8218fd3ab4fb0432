# SPDX-License-Identifier: MIT
"""The models of the queue's protocol: right as they are, and wrong with any part taken out."""

import os
import re
import shutil
import subprocess
import tempfile
import unittest

FOLDER = os.path.join(os.path.dirname(__file__), "../../../msgq/queue/model")


def errors(model, *defines, optimize="-O2"):
    """How many errors spin finds (it stops at the first), having seen all states where there is none."""
    with tempfile.TemporaryDirectory() as folder:
        def run(*command):
            return subprocess.run(command, cwd=folder, check=True, text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT).stdout
        compiler = os.environ.get("CAMSHAFT_CXX", "clang++-19").replace("clang++", "clang")
        run("spin", "-P%s -E -x c" % compiler, "-a", *["-D" + d for d in defines],
            os.path.join(os.path.abspath(FOLDER), model))
        run(compiler, "-w", optimize, "-DSAFETY", "-o", "pan", "pan.c")
        said = run("./pan", "-m100000")
    if "search not completed" in said.lower() and "errors: 0" in said:
        raise AssertionError(said)
    return int(re.search(r"errors: (\d+)", said)[1])


@unittest.skipUnless(shutil.which("spin"), "no model checker: tools/setup.sh installs spin")
class ModelTest(unittest.TestCase):
    def check_model(self, model, good, faults):
        for defines in good:
            with self.subTest(model=model, defines=defines):
                self.assertEqual(errors(model, *defines), 0)
        for defines in faults:
            with self.subTest(model=model, fault=defines):
                # Found in few steps: compiling well would take longer.
                self.assertEqual(errors(model, *defines, optimize="-O0"), 1)

    def test_no_wake_up_is_lost(self):
        faults = ["NO_RECHECK", "NO_COMPARE", "WAKE_FIRST", "BELL_LATE", "NO_HANDOVER",
                  "HANDOVER_BY_FLAGS"]
        self.check_model("wake.pml", [[]], [[f] for f in faults])

    def test_no_read_is_torn(self):
        faults = ["NO_SECOND_LOOK", "NO_CHECK", "NO_BUSY_STAMP", "NO_SECOND_STAMP", "NO_LIVENESS",
                  "CLEAR_DEAD"]
        self.check_model("ring.pml", [[], ["REVOKE"]],
                         [[f] for f in faults] + [["REVOKE", "NO_REVOKED_CHECK"]])


if __name__ == "__main__":
    unittest.main()
