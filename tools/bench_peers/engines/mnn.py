# SPDX-License-Identifier: MIT
"""MNN: converted by mnnconvert; the Module API, which its documentation prefers, on the CPU in high
precision, which is float32."""

import os
import subprocess
import sys

import MNN.expr as expr
import MNN.nn as nn
import numpy as np

from bench_peers.places import one_sentence


class Engine:
    """A module on a runtime of its own."""

    @staticmethod
    def convert(model, inputs, folder, threads):
        """Writes model.mnn."""
        result = os.path.join(folder, "model.mnn")
        program = os.path.join(os.path.dirname(sys.executable), "mnnconvert")
        done = subprocess.run([program, "-f", "ONNX", "--modelFile", model, "--MNNModel", result,
                               "--bizCode", "bench"], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode != 0 or not os.path.exists(result):
            raise RuntimeError("mnnconvert ended with %d: %s" % (done.returncode,
                                                                one_sentence(done.stdout)))
        return result

    def __init__(self, path, inputs, output_names, threads, cpus):
        config = {"backend": "CPU", "numThread": threads, "precision": "high"}
        self._runtime = nn.create_runtime_manager((config,))
        self._module = nn.load_module_from_file(path, list(inputs), output_names,
                                                runtime_manager=self._runtime)
        kinds = {"f": expr.float, "u": expr.uint8, "i": expr.int}
        self._inputs = []
        for value in inputs.values():
            variable = expr.placeholder(value.shape, expr.NCHW, kinds[value.dtype.kind])
            variable.write(np.ascontiguousarray(value))
            self._inputs.append(variable)
        self._outputs = []

    def run(self):
        """Reads the outputs, which brings them into row-major order."""
        self._outputs = [variable.read() for variable in self._module.forward(self._inputs)]

    def outputs(self):
        """As read."""
        return self._outputs
