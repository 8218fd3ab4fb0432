# SPDX-License-Identifier: MIT
"""Everything on the target `opencl`, on the machine's first OpenCL device: all operator cases, and
every network that the other targets are tested with. In the long tests; run alone
(CAMSHAFT_TEST_LONG=1), it prints what it counted.
"""

import json
import os
import tempfile
import unittest

import onnx_cases
import onnx_sources
import real_networks_test
import zoo_test
from e2e import LONG, camshaft
from onnx_verdicts import EXPECTED_FAILURES, REFUSED, counts_of, judge

HAS_OPENCL = any(d["backend"] == "opencl"
                 for d in json.loads(camshaft("devices", "--json").stdout)["devices"])


def setUpModule():
    if not LONG or not HAS_OPENCL:
        raise unittest.SkipTest("a long test, for a machine with an OpenCL device")


class Operators(unittest.TestCase):
    def test_all_cases(self):
        cases = [*onnx_sources.generated_cases(), *onnx_sources.packaged_cases()]
        with tempfile.TemporaryDirectory() as folder:
            results = onnx_cases.run_cases(list(onnx_sources.unique(cases)), folder, on=("opencl",),
                                           jobs=os.cpu_count())
        print("opencl: {:,} operator cases, {:,} pass, {:,} refused, {:,} expected failures".format(
            *counts_of(results, "opencl")))
        self.assertEqual(judge(results, REFUSED, EXPECTED_FAILURES), [])


class RealNetworks(real_networks_test.RealNetworks):
    """The networks out of packages, with the limits of real_networks_test.py."""

    targets = ("opencl",)


class Zoo(unittest.TestCase):
    """The zoo, roadnet and driver monitoring against onnxruntime."""

    def check(self, name, path):
        with tempfile.TemporaryDirectory() as folder:
            plan = os.path.join(folder, name + ".plan")
            for arguments in (("compile", path, "--target", "opencl", "-o", plan),
                              ("compare", plan, "--ref", path, "--trials", "2",
                               *zoo_test.TOLERANCES.get(name, ()))):
                done = camshaft(*arguments)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        print("opencl: %s is within tolerance" % name)


def add_network(name, path):
    def test(self):
        model = path or os.path.join(zoo_test.zoo_folder(), name + ".onnx")
        if not os.path.exists(model):
            self.skipTest(model + " is not on this machine")
        self.check(name, model)

    setattr(Zoo, "test_" + name, test)


for _name in zoo_test.ZOO:
    add_network(_name, None)
for _name, _model in zoo_test.OTHERS.items():
    add_network(_name, _model)

if __name__ == "__main__":
    unittest.main()
