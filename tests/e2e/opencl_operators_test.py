# SPDX-License-Identifier: MIT
"""The public ONNX conformance tests on the machine's first OpenCL device: see opencl_networks.py."""

import os
import tempfile
import unittest
from unittest import mock

import onnx_cases
import onnx_sources
import opencl_networks
from onnx_verdicts import EXPECTED_FAILURES, REFUSED, counts_of, judge
from opencl_networks import QUICK, TOGETHER


@unittest.skipUnless(opencl_networks.HAS_OPENCL, "this machine has no OpenCL device")
class Operators(unittest.TestCase):
    def test_all_cases(self):
        cases = [*onnx_sources.generated_cases(), *onnx_sources.packaged_cases()]
        with tempfile.TemporaryDirectory() as folder, mock.patch.dict(os.environ, QUICK):
            results = onnx_cases.run_cases(list(onnx_sources.unique(cases)), folder, on=("opencl",),
                                           jobs=os.cpu_count(), together=TOGETHER)
        print("opencl: {:,} operator cases, {:,} pass, {:,} refused, {:,} expected failures".format(
            *counts_of(results, "opencl")))
        self.assertEqual(judge(results, REFUSED, EXPECTED_FAILURES), [])


if __name__ == "__main__":
    unittest.main()
