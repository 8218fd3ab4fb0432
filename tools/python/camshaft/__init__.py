# SPDX-License-Identifier: MIT
"""Camshaft from Python: see camshaft.messaging."""
