# SPDX-License-Identifier: MIT
"""Helpers of SConstruct and of tools/check_deps."""
