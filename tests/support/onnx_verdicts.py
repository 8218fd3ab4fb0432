# SPDX-License-Identifier: MIT
"""What is expected of the public ONNX conformance tests, and how results are held against it.

Every case passes, or is unsupported for a reason in REFUSED, or fails for a reason in
EXPECTED_FAILURES. A reason that no case needs any more is wrong, and so is a case that passes in
spite of one.
"""

import collections
import re

# Those that every test run covers, and all.
IMPLEMENTATIONS = ("oracle", "llvm", "cpu")
EVERYWHERE = (*IMPLEMENTATIONS, "opencl", "opencl:qcom")

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
        ("the outputs are draws of another generator", EVERYWHERE),
    r"test_dft_inverse(_opset19)?":
        ("what is 0 exactly is above the tolerance in the data, where numpy rounded it",
         EVERYWHERE),
    r"node\.test_castlike_(BFLOAT16_to_FLOAT|FLOAT_to_BFLOAT16)(_expanded)?":
        ("the shape of the input 'like' is not the one that the model declares", EVERYWHERE),
}


def judge(results, unsupported, expected_failures, is_whole=True):
    """What is wrong with the results, given the reasons: sentences. Of a part of the cases, not
    every reason is needed."""
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
    if not is_whole:
        return wrong
    return wrong + ["no case needs the reason %r" % r
                    for r in (*unsupported, *expected_failures) if r not in used]


def counts_of(results, on):
    """The same of a run on one implementation."""
    counts = collections.Counter(r.status for r in results if r.on == on)
    return sum(counts.values()), counts["passed"], counts["unsupported"], counts["failed"]
