# SPDX-License-Identifier: MIT
"""The networks out of packages on the target `opencl`, with weights and the values between kernels as
images: see opencl_networks.py."""

import unittest

import opencl_networks


@unittest.skipUnless(opencl_networks.HAS_OPENCL, "this machine has no OpenCL device")
class RealNetworks(opencl_networks.RealNetworks):
    options = opencl_networks.IMAGES


if __name__ == "__main__":
    unittest.main()
