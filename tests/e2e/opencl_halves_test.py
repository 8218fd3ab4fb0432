# SPDX-License-Identifier: MIT
"""Networks on the target `opencl`, stored in halves, in buffers and as images: small ones; in the long
tests all. Run alone, it prints the table of their accuracy.

Compiling such a plan measures its accuracy against double precision, which is what takes time.
"""

import os
import unittest
from unittest import mock

import opencl_networks
from e2e import LONG

SMALL = {"silero_vad_16000", "silero_vad_8000", "ppocr_classifier_48x96", "roadnet",
         "driver_monitoring", "shufflenet_v2"}


class Small:
    """Leaves out what is not for every run."""

    def setUp(self):
        super().setUp()
        name = self.id().rpartition(".test_")[2]
        if not LONG and name not in SMALL:
            self.skipTest("run by test-long")
        # While compiling, too, which runs the plan.
        settings = mock.patch.dict(os.environ, opencl_networks.QUICK)
        settings.start()
        self.addCleanup(settings.stop)


@unittest.skipUnless(opencl_networks.HAS_OPENCL, "this machine has no OpenCL device")
class RealNetworks(Small, opencl_networks.RealNetworksOfHalves):
    pass


@unittest.skipUnless(opencl_networks.HAS_OPENCL, "this machine has no OpenCL device")
class Zoo(Small, opencl_networks.ZooOfHalves):
    pass


@unittest.skipUnless(LONG and opencl_networks.HAS_OPENCL, "a long test, for an OpenCL device")
class RealNetworksInImages(opencl_networks.RealNetworksOfHalves):
    options = (*opencl_networks.HALVES, *opencl_networks.IMAGES)


@unittest.skipUnless(opencl_networks.HAS_OPENCL, "this machine has no OpenCL device")
class ZooInImages(Small, opencl_networks.ZooOfHalves):
    options = (*opencl_networks.HALVES, *opencl_networks.IMAGES)


if __name__ == "__main__":
    unittest.main()
