# SPDX-License-Identifier: MIT
"""Runs the unittest cases of one file and writes their counts: unittest_file.py FILE REPORT.json.

The folder of the file and tests/support are on the module path.
"""

import importlib.util
import json
import os
import sys
import unittest


def main(path, report):
    sys.path[:0] = [os.path.dirname(os.path.abspath(path)), os.path.abspath("tests/support")]
    spec = importlib.util.spec_from_file_location(os.path.basename(path)[:-len(".py")], path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    suite = unittest.defaultTestLoader.loadTestsFromModule(module)
    result = unittest.TextTestRunner(stream=sys.stdout, verbosity=2).run(suite)
    failed = len(result.failures) + len(result.errors) + len(result.unexpectedSuccesses)
    skipped = len(result.skipped)
    counts = {"passed": max(0, result.testsRun - failed - skipped), "failed": failed,
              "skipped": skipped}
    with open(report, "w", encoding="utf-8") as f:
        json.dump(counts, f)
    return 0 if result.wasSuccessful() and suite.countTestCases() else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
