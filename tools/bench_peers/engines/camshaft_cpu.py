# SPDX-License-Identifier: MIT
"""Camshaft's other CPU target, C compiled by clang."""

from bench_peers.engines import camshaft


class Engine(camshaft.Engine):
    """As camshaft, from another plan."""

    TARGET = "cpu"
