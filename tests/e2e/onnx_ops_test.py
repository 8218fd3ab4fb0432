# SPDX-License-Identifier: MIT
"""The operator tests of the onnx package, on the ONNX reader and the oracle.

Every case passes, or is unsupported for a reason in UNSUPPORTED, or fails for a reason in
EXPECTED_FAILURES. A reason that no case needs any more fails the test.
"""

import collections
import re
import tempfile
import unittest

import numpy as np
import onnx_cases

# Operators of the default domain that the reader does not have yet.
MISSING_OPERATORS = """
    Bernoulli BlackmanWindow Col2Im DFT Det FlexAttention GRU
    HammingWindow HannWindow LSTM LinearAttention MaxUnpool MelWeightMatrix
    RNN RandomUniformLike ReverseSequence STFT
""".split()

# Operators that are refused for good: they are about text, images, sequences, options or training.
REFUSED_OPERATORS = """
    ImageDecoder NegativeLogLikelihoodLoss OptionalGetElement OptionalHasElement
    SoftmaxCrossEntropyLoss TfIdfVectorizer
""".split()

# What the reader says of a case that it can't read -> why that is right.
UNSUPPORTED = {
    r"\((%s)\): this operator is not supported" % "|".join(MISSING_OPERATORS): "not written yet",
    r"\((%s)\): this operator is not supported" % "|".join(REFUSED_OPERATORS): "refused",
    r"sequences and optionals are refused|is a (sequence|optional);": "refused",
    r"element type string is not supported": "refused",
    r"training mode: export the model for inference": "refused",
    r"\(MaxPool\): output 1 \(Indices\) is not supported": "needs an argmax over windows",
    r"opset 1 of the default domain is not supported": "older than opset 7",
}

# Case -> why it fails.
EXPECTED_FAILURES = {}


class OnnxOps(unittest.TestCase):
    def test_node_cases(self):
        with tempfile.TemporaryDirectory() as folder:
            results = onnx_cases.run_cases(onnx_cases.node_cases(), folder)
        counts = collections.Counter(result.status for result in results)
        print("node cases: %(passed)d passed, %(unsupported)d unsupported, %(failed)d failed" %
              {"failed": 0, **counts})
        used = set()
        wrong = []
        for result in results:
            name = result.case.name
            if result.status == "unsupported":
                for problem in result.problems:
                    reasons = [r for r in UNSUPPORTED if re.search(r, problem)]
                    used.update(reasons)
                    if not reasons:
                        wrong.append("%s is unsupported: %s" % (name, problem))
            elif (result.status == "failed") != (name in EXPECTED_FAILURES):
                wrong.append("%s %s: %s" % (name, result.status, result.problems))
        wrong += ["no case needs the reason %r" % r for r in UNSUPPORTED if r not in used]
        self.assertGreater(counts["passed"], 1100)
        self.assertEqual(wrong, [])

    def test_a_wrong_output_is_seen(self):
        case = onnx_cases.make_case("test_abs", "Abs", [np.float32([-1, 2])])
        case.outputs = [np.float32([1, 2.01])]
        with tempfile.TemporaryDirectory() as folder:
            results = onnx_cases.run_cases([case], folder)
        self.assertEqual([r.status for r in results], ["failed"])


if __name__ == "__main__":
    unittest.main()
