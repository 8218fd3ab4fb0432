# SPDX-License-Identifier: MIT
"""OpenVINO: CPU plugin, latency hint, one stream, float32, inputs shared with it."""

import numpy as np
import openvino


class Engine:
    """A compiled model and its one request."""

    def __init__(self, path, inputs, output_names, threads, cpus):
        settings = {"PERFORMANCE_HINT": "LATENCY", "NUM_STREAMS": 1,
                    "INFERENCE_NUM_THREADS": threads, "INFERENCE_PRECISION_HINT": "f32",
                    "ENABLE_CPU_PINNING": threads > 1}
        compiled = openvino.Core().compile_model(path, "CPU", settings)
        self._request = compiled.create_infer_request()
        self._inputs = inputs  # shared: they must live
        for name, value in inputs.items():
            self._request.set_tensor(name, openvino.Tensor(value, shared_memory=True))
        self._names = output_names

    def run(self):
        """Leaves the outputs in the request's tensors."""
        self._request.start_async()
        self._request.wait()

    def outputs(self):
        """Copies."""
        return [np.array(self._request.get_tensor(name).data) for name in self._names]
