# SPDX-License-Identifier: MIT
"""The C header is C: it compiles alone as C99 and as C++11, with all warnings."""

import os
import subprocess
import unittest

CXX = os.environ.get("CAMSHAFT_CXX", "clang++-19")
HEADER = "runtime/capi/camshaft.h"


def compile_as(language, standard, text):
    """The compiler's exit code and output for a translation unit."""
    done = subprocess.run(
        [CXX, "-x", language, "-std=" + standard, "-Wall", "-Wextra", "-Wpedantic", "-Werror",
         "-fsyntax-only", "-I.", "-"], input=text, capture_output=True, text=True)
    return done.returncode, done.stderr


class HeaderTest(unittest.TestCase):
    def test_it_compiles_alone(self):
        text = '#include "%s"\nint main(void) { return (int)camshaft_now_ns(); }\n' % HEADER
        for language, standard in (("c", "c99"), ("c", "c11"), ("c++", "c++11"), ("c++", "c++20")):
            code, output = compile_as(language, standard, text)
            self.assertEqual(code, 0, output)

    def test_the_check_can_fail(self):
        code, _ = compile_as("c", "c99", '#include "%s"\nint x = camshaft_nonsense;\n' % HEADER)
        self.assertNotEqual(code, 0)


if __name__ == "__main__":
    unittest.main()
