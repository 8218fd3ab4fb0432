# SPDX-License-Identifier: MIT
"""The test runner must not report a failure as success: one negative control for each way to fail."""

import os
import re
import stat
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CXX = os.environ.get("CAMSHAFT_CXX", "clang++-19")

# Stands for a Catch2 binary: it is called as: binary -r junit -o REPORT ...
CATCH = """#!/bin/sh
cat > "$4" <<'REPORT'
<testsuites><testsuite>%s</testsuite></testsuites>
REPORT
exit %d
"""
GOOD_CASE = '<testcase name="good"/>'
BAD_CASE = '<testcase name="bad"><failure>1 == 2</failure></testcase>'
UNITTEST = "import unittest\nclass T(unittest.TestCase):\n  def test(self): %s\n"


class RunTests(unittest.TestCase):
    def run_tree(self, files, *arguments):
        """Exit code, (passed, failed) and output of the runner in a tree of these files."""
        with tempfile.TemporaryDirectory() as root:
            binaries = []
            for path, text in files.items():
                full = os.path.join(root, path)
                os.makedirs(os.path.dirname(full), exist_ok=True)
                with open(full, "w", encoding="utf-8") as f:
                    f.write(text)
                if path.startswith("bin/"):
                    os.chmod(full, stat.S_IRWXU)
                    binaries.append(full)
            done = subprocess.run(
                [sys.executable, os.path.join(ROOT, "tools/run_tests.py"), "--cxx", CXX,
                 *arguments, *binaries], cwd=root, capture_output=True, text=True)
            last = re.fullmatch(r"(\d+) passed, (\d+) failed(, \d+ skipped)?",
                                done.stdout.strip().splitlines()[-1])
            self.assertIsNotNone(last, done.stdout + done.stderr)
            return done.returncode, (int(last[1]), int(last[2])), done.stdout

    def assert_fails(self, files, counts, *arguments):
        code, found, output = self.run_tree(files, *arguments)
        self.assertEqual((code, found), (1, counts), output)

    # Every tree also passes check_deps, which counts as one.

    def test_all_good(self):
        code, counts, output = self.run_tree({
            "bin/a": CATCH % (GOOD_CASE * 2, 0),
            "tests/x/y_test.py": UNITTEST % "pass",
            "tests/must_fail/z.cc": "// must-fail: cannot initialize\nint* f(long* p) { return p; }\n",
        })
        self.assertEqual((code, counts), (0, (5, 0)), output)

    def test_failed_case(self):
        self.assert_fails({"bin/a": CATCH % (GOOD_CASE + BAD_CASE, 1)}, (2, 1))

    def test_exit_code_without_a_failed_case(self):
        self.assert_fails({"bin/a": CATCH % (GOOD_CASE, 3)}, (2, 1))

    def test_no_report(self):
        self.assert_fails({"bin/a": "#!/bin/sh\nkill -SEGV $$\n"}, (1, 1))

    def test_no_case(self):
        self.assert_fails({"bin/a": CATCH % ("", 0)}, (1, 1))

    def test_hang(self):
        self.assert_fails({"bin/a": "#!/bin/sh\nsleep 60\n"}, (1, 1), "--watchdog", "0.5")

    def test_python_failure(self):
        self.assert_fails({"tests/a_test.py": UNITTEST % "self.fail()"}, (1, 1))

    def test_python_import_error(self):
        self.assert_fails({"tests/a_test.py": "import no_such_module\n"}, (1, 1))

    def test_python_without_cases(self):
        self.assert_fails({"tests/a_test.py": "pass\n"}, (1, 1))

    def test_must_fail_that_compiles(self):
        self.assert_fails({"tests/must_fail/a.cc": "// must-fail: x\nint a;\n"}, (1, 1))

    def test_must_fail_for_another_reason(self):
        self.assert_fails({"tests/must_fail/a.cc": "// must-fail: cannot initialize\nint a\n"},
                          (1, 1))

    def test_dependency_violation(self):
        self.assert_fails({"bin/a": CATCH % (GOOD_CASE, 0),
                           "runtime/base/a.cc": "#include <llvm/IR/Module.h>\n"}, (1, 1))

    def test_nothing_to_run_is_a_failure(self):
        code, _, output = self.run_tree({}, "--filter", "no such test")
        self.assertEqual(code, 1, output)


if __name__ == "__main__":
    unittest.main()
