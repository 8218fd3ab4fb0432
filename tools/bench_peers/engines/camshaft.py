# SPDX-License-Identifier: MIT
"""Camshaft through its C API, as a program on a vehicle has it."""

import ctypes
import os
import subprocess

import numpy as np

from bench_peers.places import CAMSHAFT, LIBRARY, one_sentence

_LIBRARY = ctypes.CDLL(LIBRARY)
_LIBRARY.camshaft_last_error.restype = ctypes.c_char_p
# Numbers of the plan format.
_DTYPES = ("f4", "f8", "f2", None, "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "?")


class _TensorInfo(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("dtype", ctypes.c_uint32), ("rank", ctypes.c_uint32),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("size_bytes", ctypes.c_uint64),
                ("unit", ctypes.c_char_p)]


class _DeviceOptions(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("threads", ctypes.c_uint32),
                ("cpu_count", ctypes.c_uint32), ("cpus", ctypes.POINTER(ctypes.c_uint32)),
                ("no_huge_pages", ctypes.c_uint32)]


def _check(status):
    if status != 0:
        raise RuntimeError(_LIBRARY.camshaft_last_error().decode())


class Engine:
    """A session on the device `cpu`, or another."""

    TARGET = "llvm"

    @classmethod
    def convert(cls, model, inputs, folder, threads):
        """Compiles the plan."""
        plan = os.path.join(folder, "%s_%d.plan" % (cls.TARGET, threads))
        done = subprocess.run([CAMSHAFT, "compile", model, "--target", cls.TARGET, "--threads",
                               str(threads), "-o", plan], capture_output=True, text=True,
                              check=False)
        if done.returncode != 0:
            raise RuntimeError(one_sentence(done.stderr))
        return plan

    def __init__(self, path, inputs, output_names, threads, cpus, device="cpu"):
        self._plan, self._device, self._session = (ctypes.c_void_p() for _ in range(3))
        _check(_LIBRARY.camshaft_plan_open(path.encode(), None, ctypes.byref(self._plan)))
        options = _DeviceOptions(ctypes.sizeof(_DeviceOptions), threads, threads,
                                 (ctypes.c_uint32 * threads)(*cpus[:threads]), 0)
        _check(_LIBRARY.camshaft_device_open(device.encode(), ctypes.byref(options),
                                             ctypes.byref(self._device)))
        _check(_LIBRARY.camshaft_session_open(self._plan, self._device, None,
                                              ctypes.byref(self._session)))
        if device == "cpu":
            os.sched_setaffinity(0, {cpus[0]})  # this thread works too; the others have their own
        for name, value in inputs.items():
            self._set_input(name, np.ascontiguousarray(value))

    def _set_input(self, name, value):
        index = ctypes.c_uint32()
        _check(_LIBRARY.camshaft_plan_input_index(self._plan, name.encode(), ctypes.byref(index)))
        data, size = ctypes.c_void_p(), ctypes.c_uint64()
        _check(_LIBRARY.camshaft_session_input_data(self._session, index, ctypes.byref(data),
                                                    ctypes.byref(size)))
        if size.value != value.nbytes:
            raise RuntimeError("input %s has %d bytes, not %d" % (name, size.value, value.nbytes))
        ctypes.memmove(data, value.ctypes.data, value.nbytes)

    def run(self):
        """Leaves the outputs in the session's memory, which is this process's."""
        _check(_LIBRARY.camshaft_session_run(self._session, None, None))

    def _output(self, index):
        info, data, size = _TensorInfo(), ctypes.c_void_p(), ctypes.c_uint64()
        _check(_LIBRARY.camshaft_plan_output(self._plan, index, ctypes.byref(info)))
        _check(_LIBRARY.camshaft_session_output(self._session, index, ctypes.byref(data),
                                                ctypes.byref(size)))
        array = np.frombuffer(ctypes.string_at(data, size.value), _DTYPES[info.dtype])
        return array.reshape(info.shape[:info.rank])

    def outputs(self):
        """Copies of what the last run wrote."""
        count = _LIBRARY.camshaft_plan_output_count(self._plan)
        return [self._output(i) for i in range(count)]
