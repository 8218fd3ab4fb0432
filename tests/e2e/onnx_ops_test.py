# SPDX-License-Identifier: MIT
"""The public ONNX conformance tests, on the oracle and on both CPU targets.

Every case passes, or is unsupported for a reason in UNSUPPORTED, or fails for a reason in
EXPECTED_FAILURES. A reason that no case needs any more fails the test, and so does a case that
passes in spite of one.
"""

import collections
import os
import re
import tempfile
import unittest

import e2e
import numpy as np
import onnx_cases
import onnx_sources

IMPLEMENTATIONS = ("oracle", "llvm", "cpu")

# What is refused for good, and what the reader says of it. A case whose every problem is one of
# these is unsupported.
STRINGS, SEQUENCES, OPTIONALS = "strings", "sequences", "optional types"
TRAINING, IMAGES = "training", "image files"
STRING_OPERATORS = "RegexFullMatch|StringConcat|StringNormalizer|StringSplit"
SEQUENCE_OPERATORS = "(Split)?(To)?Sequence\\w*|ConcatFromSequence"
REFUSED = {
    r"\((%s)\): this operator is not supported" % STRING_OPERATORS: STRINGS,
    r"element type string is not supported": STRINGS,
    r"\((%s)\): this operator is not supported" % SEQUENCE_OPERATORS: SEQUENCES,
    r"is a sequence;": SEQUENCES,
    r"\(Optional\w*\): this operator is not supported": OPTIONALS,
    r"is a optional;": OPTIONALS,
    r"training mode: export the model for inference": TRAINING,
    r"training operators \(domain 'ai.onnx.preview.training'\) are not supported": TRAINING,
    r"\(ImageDecoder\): this operator is not supported": IMAGES,
}

# Cases (a regular expression) -> why they fail, and where.
EXPECTED_FAILURES = {
    r"(node\.)?test_bernoulli(_double|_seed)?(_expanded)?":
        ("the outputs are draws of another generator", IMPLEMENTATIONS),
    r"test_dft_inverse(_opset19)?":
        ("what is 0 exactly is above the tolerance in the data, where numpy rounded it",
         IMPLEMENTATIONS),
    r"node\.test_castlike_(BFLOAT16_to_FLOAT|FLOAT_to_BFLOAT16)(_expanded)?":
        ("the shape of the input 'like' is not the one that the model declares", IMPLEMENTATIONS),
}


def judge(results, unsupported, expected_failures):
    """What is wrong with the results, given the reasons: sentences."""
    wrong, used = [], set()
    for result in results:
        where = "%s on %s" % (result.case.name, result.on)
        failures = [e for e, (_, on) in expected_failures.items()
                    if result.on in on and re.fullmatch(e, result.case.name)]
        if result.status == "unsupported":
            for problem in result.problems:
                reasons = [r for r in unsupported if re.search(r, problem)]
                used.update(reasons)
                wrong += [] if reasons else ["%s is unsupported: %s" % (where, problem)]
        elif result.status == "failed":
            used.update(failures)
            wrong += [] if failures else ["%s failed: %s" % (where, "; ".join(result.problems))]
        elif failures:
            wrong.append("%s passed, in spite of %r" % (where, failures))
    return wrong + ["no case needs the reason %r" % r
                    for r in (*unsupported, *expected_failures) if r not in used]


README = os.path.join(e2e.ROOT, "README.md")
README_ROW = (r"^\| ([\d,]+) \| oracle, `llvm`, `cpu` \| ([\d,]+) \| ([\d,]+):[^|]*"
              r"\| ([\d,]+):[^|]*\|$")


def readme_counts(text):
    """(cases, passed, refused, expected failures) of the README's row, or None without one."""
    row = re.search(README_ROW, text, re.MULTILINE)
    return tuple(int(number.replace(",", "")) for number in row.groups()) if row else None


def counts_of(results, on):
    """The same of a run on one implementation."""
    counts = collections.Counter(r.status for r in results if r.on == on)
    return sum(counts.values()), counts["passed"], counts["unsupported"], counts["failed"]


class Conformance(unittest.TestCase):
    def test_all_cases(self):
        cases = [*onnx_sources.generated_cases(), *onnx_sources.packaged_cases()]
        with tempfile.TemporaryDirectory() as folder:
            results = onnx_cases.run_cases(list(onnx_sources.unique(cases)), folder,
                                           on=IMPLEMENTATIONS, jobs=os.cpu_count())
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
