# SPDX-License-Identifier: MIT
"""The zoo, roadnet and driver monitoring on the target `opencl`, with buffers: see
opencl_networks.py."""

import unittest

import opencl_networks


@unittest.skipUnless(opencl_networks.HAS_OPENCL, "this machine has no OpenCL device")
class Zoo(opencl_networks.Zoo):
    pass


if __name__ == "__main__":
    unittest.main()
