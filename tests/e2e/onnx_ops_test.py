# SPDX-License-Identifier: MIT
"""The public ONNX conformance tests, on the oracle and on both CPU targets.

What is expected of them is in tests/support/onnx_verdicts.py. On the target `opencl` they run in
opencl_operators_test.py.
"""

import os
import re
import tempfile
import unittest

import e2e
import numpy as np
import onnx_cases
import onnx_sources
from onnx_verdicts import EXPECTED_FAILURES, IMPLEMENTATIONS, REFUSED, counts_of, judge

# The targets render the same kernels, so but for the long tests one of them has many cases in one
# model: what takes `cpu` time is that it starts a compiler for each.
ALONE, TOGETHER = ("oracle", "llvm"), ("cpu",)
README = os.path.join(e2e.ROOT, "README.md")
README_ROW = (r"^\| ([\d,]+) \| oracle, `llvm`, `cpu` \| ([\d,]+) \| ([\d,]+):[^|]*"
              r"\| ([\d,]+):[^|]*\|$")


def readme_counts(text):
    """(cases, passed, refused, expected failures) of the README's row, or None without one."""
    row = re.search(README_ROW, text, re.MULTILINE)
    return tuple(int(number.replace(",", "")) for number in row.groups()) if row else None


class Conformance(unittest.TestCase):
    def test_all_cases(self):
        cases = [*onnx_sources.generated_cases(), *onnx_sources.packaged_cases()]
        cases, results = list(onnx_sources.unique(cases)), []
        for on, together in (ALONE, 1), (TOGETHER, 1 if e2e.LONG else 25):
            with tempfile.TemporaryDirectory() as folder:
                results += onnx_cases.run_cases(cases, folder, on=on, jobs=os.cpu_count(),
                                                together=together)
        self.assertEqual(judge(results, REFUSED, EXPECTED_FAILURES), [])
        with open(README, encoding="utf-8") as f:
            written = readme_counts(f.read())
        for on in IMPLEMENTATIONS:
            counted = counts_of(results, on)
            self.assertEqual(written, counted, "README.md's row of conformance cases must say: "
                             "{:,} cases, {:,} pass, {:,} refused, {:,} expected failures "
                             "(counted on {})".format(*counted, on))


class Harness(unittest.TestCase):
    """The harness itself must see what is wrong."""

    def run_abs(self, **fields):
        case = onnx_cases.make_case("test_abs", "Abs", [np.float32([-1, 2])])
        for name, value in fields.items():
            setattr(case, name, value)
        with tempfile.TemporaryDirectory() as folder:
            return onnx_cases.run_cases([case], folder, on=IMPLEMENTATIONS)

    def test_a_wrong_output_is_seen(self):
        right = self.run_abs(outputs=[np.float32([1, 2])])
        self.assertEqual([r.status for r in right], ["passed"] * 3)
        wrong = self.run_abs(outputs=[np.float32([1, 2.01])])
        self.assertEqual([r.status for r in wrong], ["failed"] * 3)
        other_type = self.run_abs(outputs=[np.float64([1, 2])])
        self.assertEqual([r.status for r in other_type], ["failed"] * 3)

    def test_cases_together_are_judged_one_by_one(self):
        def case(name, op_type, expected, value=(-1, 2)):
            made = onnx_cases.make_case(name, op_type, [np.float32(value)])
            made.outputs = [np.array(expected)]
            return made

        cases = [case("abs", "Abs", np.float32([1, 2])), case("neg", "Neg", np.float32([1, -3])),
                 case("text", "StringSplit", "a"), case("exp", "Exp", np.float32([1]), [0]),
                 # Nothing can be computed of indices beyond the end: these are run alone.
                 onnx_cases.make_case("gather", "Gather", [np.float32([1]), np.int64([7])]),
                 case("floor", "Floor", np.float32([-1, 2]))]
        for together in (1, 4, 100):
            with tempfile.TemporaryDirectory() as folder:
                results = onnx_cases.run_cases(cases, folder, on=("oracle", "llvm"),
                                               together=together)
            self.assertEqual(
                {(r.case.name, r.on): r.status for r in results if r.case.name != "gather"},
                {(name, on): status for name, status in (
                    ("abs", "passed"), ("neg", "failed"), ("text", "unsupported"),
                    ("exp", "passed"), ("floor", "passed")) for on in ("oracle", "llvm")})
            [gather] = [r for r in results if (r.case.name, r.on) == ("gather", "oracle")]
            self.assertEqual(gather.status, "failed")

    def test_counts_are_read_and_counted(self):
        row = "a\n| 2,528 | oracle, `llvm`, `cpu` | 2,365 | 145: strings, text | 18: draws |\nb"
        self.assertEqual(readme_counts(row), (2528, 2365, 145, 18))
        self.assertIsNone(readme_counts(row.replace("oracle", "nothing")))
        results = self.run_abs(outputs=[np.float32([1, 2])]) + self.run_abs(
            outputs=[np.float32([1, 3])])
        self.assertEqual(counts_of(results, "llvm"), (2, 1, 0, 1))

    def test_reasons_are_held_to_account(self):
        passed = self.run_abs(outputs=[np.float32([1, 2])])
        failed = self.run_abs(outputs=[np.float32([1, 3])])
        self.assertEqual(judge(passed, {}, {}), [])
        self.assertEqual(len(judge(failed, {}, {})), 3)
        self.assertEqual(judge(failed, {}, {"test_abs": ("a reason", IMPLEMENTATIONS)}), [])
        self.assertEqual(len(judge(failed, {}, {"test_abs": ("a reason", ("llvm",))})), 2)
        self.assertEqual(len(judge(passed, {}, {"test_abs": ("a reason", ("llvm",))})), 2)
        self.assertEqual(len(judge(passed, {"a reason": ""}, {"test_ab": ("another", ())})), 2)


if __name__ == "__main__":
    unittest.main()
