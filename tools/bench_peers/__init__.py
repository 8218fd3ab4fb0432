# SPDX-License-Identifier: MIT
"""Camshaft beside other engines; `python tools/bench_peers --help`."""
