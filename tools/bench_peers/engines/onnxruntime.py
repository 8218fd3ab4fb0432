# SPDX-License-Identifier: MIT
"""ONNX Runtime: CPU provider, all optimizations, sequential, threads pinned, inputs and outputs
bound so that nothing is copied or allocated."""

import os

import numpy as np
import onnxruntime


class Engine:
    """A session and its binding."""

    def __init__(self, path, inputs, output_names, threads, cpus):
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.execution_mode = onnxruntime.ExecutionMode.ORT_SEQUENTIAL
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
        if threads > 1:  # of the threads besides the caller's; it counts CPUs from 1
            options.add_session_config_entry("session.intra_op_thread_affinities",
                                             ";".join(str(cpu + 1) for cpu in cpus[1:threads]))
        self._session = onnxruntime.InferenceSession(path, options,
                                                     providers=["CPUExecutionProvider"])
        os.sched_setaffinity(0, {cpus[0]})  # this thread works too
        self._inputs = inputs
        self._names = output_names
        self._outputs = None
        self._binding = self._bind_inputs()
        for name in self._names:
            self._binding.bind_output(name)

    def _bind_inputs(self):
        binding = self._session.io_binding()
        for name, value in self._inputs.items():
            binding.bind_cpu_input(name, value)
        return binding

    def run(self):
        """From the second run on into the memory that the first one's outputs were given."""
        self._session.run_with_iobinding(self._binding)
        if self._outputs is None:
            arrays = self._binding.copy_outputs_to_cpu()
            self._outputs = [onnxruntime.OrtValue.ortvalue_from_numpy(np.ascontiguousarray(array))
                             for array in arrays]
            self._binding = self._bind_inputs()
            for name, value in zip(self._names, self._outputs):
                self._binding.bind_ortvalue_output(name, value)

    def outputs(self):
        """As arrays."""
        return [value.numpy() for value in self._binding.get_outputs()]
