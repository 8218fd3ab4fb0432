# SPDX-License-Identifier: MIT
"""tinygrad: its ONNX runner under TinyJit on the CPU device. The environment (roster.py) sets the
device, the number of threads and BEAM."""

import numpy as np
from tinygrad import Tensor, TinyJit
from tinygrad.nn.onnx import OnnxRunner

CAPTURES = 2  # calls until TinyJit replays


class Engine:
    """A captured function."""

    def __init__(self, path, inputs, output_names, threads, cpus):
        runner = OnnxRunner(path)

        @TinyJit
        def step(**values):
            results = runner(values)
            return [results[name].contiguous().realize() for name in output_names]

        self._step = step
        self._inputs = {name: Tensor(np.ascontiguousarray(value)).realize()
                        for name, value in inputs.items()}
        self._outputs = []
        for _ in range(CAPTURES):
            self.run()

    def run(self):
        """Reads the outputs, which waits for them."""
        self._outputs = [value.numpy() for value in self._step(**self._inputs)]

    def outputs(self):
        """As read."""
        return self._outputs
