# SPDX-License-Identifier: MIT
"""An engine for the tests of tools/bench_peers: doubles its inputs, and does as the environment
variable FAKE_ENGINE says: "fail" in a run, "die" in a run, "spin" in a thread while idle."""

import os
import signal
import threading

import numpy as np

MODE = os.environ.get("FAKE_ENGINE", "")


def _spin():
    while True:
        pass


class Engine:
    """Doubles."""

    @staticmethod
    def convert(model, inputs, folder, threads):
        """Nothing to do."""
        return model

    def __init__(self, path, inputs, output_names, threads, cpus):
        print("engines print what they like")
        self._inputs = inputs
        if MODE == "spin":
            threading.Thread(target=_spin, daemon=True).start()

    def run(self):
        """Fails where it was told to."""
        if MODE == "fail":
            raise ValueError("a first line\nthe reason")
        if MODE == "die":
            print("its last words", flush=True)
            os.kill(os.getpid(), signal.SIGABRT)

    def outputs(self):
        """Twice the inputs."""
        return [np.asarray(value) * 2 for value in self._inputs.values()]
