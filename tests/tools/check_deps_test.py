# SPDX-License-Identifier: MIT
"""The dependency checker must refuse what the table of folders forbids, and nothing else."""

import os
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

ALLOWED = {
    "runtime/base/status.h": "#include <cstdint>\n",
    "runtime/plan/reader.h": '#include "runtime/base/status.h"\n',
    "runtime/plan/reader.cc": '#include <sodium.h>\n#include "runtime/plan/reader.h"\n',
    "devices/hal/device.h": '#include "runtime/base/status.h"\n',
    "devices/hal/staging.h": '#include "devices/hal/device.h"\n',
    "devices/cpu/cpu.h": '#include "devices/hal/staging.h"\n',
    "runtime/session/session.h": '#include "devices/hal/device.h"\n'
                                 '#include "runtime/plan/reader.h"\n',
    "codegen/ir/graph.h": "#include <Eigen/Dense>\n",
    "codegen/emit/emit.h": '#include "codegen/ir/graph.h"\n#include "runtime/plan/reader.h"\n',
    "msgq/queue/queue.h": '#include "runtime/base/status.h"\n',
    "tools/command/run.cc": '#include "codegen/emit/emit.h"\n#include "msgq/queue/queue.h"\n',
}

FORBIDDEN = {  # file and include: what must be said of them
    ("runtime/session/bad.cc", '"codegen/ir/graph.h"'): "runtime/session may not include codegen/ir",
    ("runtime/session/bad.h", '"devices/hal/staging.h"'): "may not include devices/hal",
    ("runtime/base/bad.h", '"runtime/plan/reader.h"'): "may not include runtime/plan",
    ("codegen/emit/bad.cc", '"devices/hal/device.h"'): "may not include devices/hal",
    ("codegen/ir/bad.cc", '"runtime/session/session.h"'): "may not include runtime/session",
    ("codegen/emit/bad.h", '"msgq/queue/queue.h"'): "may not include msgq/queue",
    ("devices/null/bad.cc", '"devices/cpu/cpu.h"'): "devices/null may not include devices/cpu",
    ("runtime/plan/bad.cc", "<llvm/IR/Module.h>"): "runtime/plan may not use llvm",
    ("runtime/base/bad.cc", "<Eigen/Dense>"): "runtime/base may not use eigen",
    ("runtime/plan/bad.h", '"reader.h"'): "not found from the root of the repository",
    ("runtime/novel/bad.cc", "<cstdint>"): "no row of tools/layers.py covers this folder",
}


class CheckDeps(unittest.TestCase):
    def check(self, files):
        """Exit code and output of the checker over a tree of these files."""
        with tempfile.TemporaryDirectory() as root:
            for path, text in files.items():
                full = os.path.join(root, path)
                os.makedirs(os.path.dirname(full), exist_ok=True)
                with open(full, "w", encoding="utf-8") as f:
                    f.write(text)
            done = subprocess.run([sys.executable, os.path.join(ROOT, "tools/check_deps"), root],
                                  capture_output=True, text=True)
            return done.returncode, done.stdout + done.stderr

    def test_allowed_includes_pass(self):
        code, output = self.check(ALLOWED)
        self.assertEqual(code, 0, output)

    def test_each_forbidden_include_is_refused(self):
        for (path, include), complaint in FORBIDDEN.items():
            with self.subTest(path=path, include=include):
                code, output = self.check({**ALLOWED, path: "\n#include %s\n" % include})
                self.assertEqual(code, 1, output)
                self.assertIn(complaint, output)
                self.assertIn(path, output)
                self.assertIn("1 violations", output)

    def test_the_line_is_named(self):
        text = '#pragma once\n\n  # include "codegen/ir/graph.h"\n'
        _, output = self.check({**ALLOWED, "msgq/queue/bad.h": text})
        self.assertIn("msgq/queue/bad.h:3:", output)


if __name__ == "__main__":
    unittest.main()
