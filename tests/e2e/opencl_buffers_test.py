# SPDX-License-Identifier: MIT
"""The networks out of packages on the target `opencl`, with buffers: see opencl_networks.py."""

import unittest

import opencl_networks


@unittest.skipUnless(opencl_networks.HAS_OPENCL, "this machine has no OpenCL device")
class RealNetworks(opencl_networks.RealNetworks):
    pass


if __name__ == "__main__":
    unittest.main()
