# SPDX-License-Identifier: MIT
"""The engines: under which Python each runs, and in which environment."""

import os
import sys
from dataclasses import dataclass
from typing import Callable

from bench_peers.places import BUILD, LIBRARY, PEERS_PYTHON, Absent

OWN = ("camshaft", "camshaft_cpu")


def no_environment(threads, cpus, beam):
    """For engines that are told all they need when they are opened."""
    return {}


def openmp_environment(threads, cpus, beam):
    """A thread for each CPU, bound to it."""
    return {"OMP_NUM_THREADS": str(threads), "OMP_PROC_BIND": "true",
            "OMP_PLACES": ",".join("{%d}" % cpu for cpu in cpus)}


def tinygrad_environment(threads, cpus, beam):
    """The CPU device with threads; its caches below the build folder."""
    return {"DEV": "CPU", "NUM_CPU_THREADS": str(threads), "THREADS": str(int(threads > 1)),
            "BEAM": str(beam), "CACHEDB": os.path.join(BUILD, "bench", "tinygrad.db")}


@dataclass(frozen=True)
class Peer:
    """An engine by name: `module` has its class Engine."""

    name: str
    module: str
    python: str
    needs: str  # a file without which it is absent
    how: str  # to get it
    converts: bool = False  # has a format of its own; else it opens ONNX files
    needs_floats: bool = False  # knows no inputs of integers
    environment: Callable = no_environment

    def check(self):
        """Raises Absent where it can't be here."""
        if not os.path.exists(self.needs):
            raise Absent("%s is not there: %s" % (self.needs, self.how))


def _ours(name):
    return Peer(name, "bench_peers.engines." + name, sys.executable, LIBRARY, "scons runtime",
                converts=True)


def _peer(name, **fields):
    return Peer(name, "bench_peers.engines." + name, PEERS_PYTHON, PEERS_PYTHON,
                "tools/setup.sh --peers", **fields)


ROSTER = {peer.name: peer for peer in (
    _ours("camshaft"),
    _ours("camshaft_cpu"),
    Peer("onnxruntime", "bench_peers.engines.onnxruntime", sys.executable, sys.executable, ""),
    _peer("openvino"),
    _peer("ncnn", converts=True, needs_floats=True, environment=openmp_environment),
    _peer("mnn", converts=True),
    _peer("tinygrad", environment=tinygrad_environment),
)}
DEFAULT = [name for name in ROSTER if name != "camshaft_cpu"]
