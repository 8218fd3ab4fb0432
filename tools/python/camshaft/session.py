# SPDX-License-Identifier: MIT
"""Plans, run from Python on numpy arrays:

    import camshaft
    with camshaft.Session("model.plan") as session:
        outputs = session.run({"x": x})  # x: of session.inputs["x"].dtype and .shape
        print(outputs["y"])

Failures are camshaft.Error. Nothing is converted: an array of another type or shape is refused.
Without any copy: write into session.input("x"), which is the session's own memory, and read what
session.run({}, copy=False) returns, which the next run overwrites.

A session may be used from several threads; they take turns.
"""

import ctypes
import os
import threading
from dataclasses import dataclass

import numpy as np

from camshaft._error import Code, Error
from camshaft._runtime import (DTYPES, DeviceOptions, SessionOptions, SliceInfo, TensorInfo, check,
                               lib, made)


@dataclass(frozen=True)
class Slice:
    """A named part of an output: `shape` and `unit` ("" if none is known) of its elements."""

    name: str
    first: int  # element, of the output's from its beginning
    shape: tuple
    unit: str

    def of(self, array):
        """This part of an output's array, as a view."""
        count = int(np.prod(self.shape, dtype=np.int64))
        return array.reshape(-1)[self.first:self.first + count].reshape(self.shape)


@dataclass(frozen=True)
class Tensor:
    """An input or output. Where an extent depends on data, `shape` has the most that it can be."""

    name: str
    dtype: np.dtype
    shape: tuple
    unit: str
    slices: dict  # of an output: {name: Slice}


def _dtype(number, name):
    """numpy's type of the plan format's number."""
    if DTYPES[number] != "bfloat16":
        return np.dtype(DTYPES[number])
    try:
        import ml_dtypes
    except ImportError:
        raise Error(Code.UNSUPPORTED, "'%s' is of bfloat16, which numpy has by the package "
                    "ml_dtypes: install that" % name) from None
    return np.dtype(ml_dtypes.bfloat16)


def _number(dtype):
    """The plan format's number of a numpy type; None where plans have no such type."""
    is_native = dtype.isnative and dtype.kind in "fiubV"
    return DTYPES.index(dtype.name) if is_native and dtype.name in DTYPES else None


class _Native:
    """A plan and a session of the library's, closed when nobody holds them any more: arrays that
    view the session's memory do."""

    def __init__(self, path, device, threads, target, public_key):
        self.plan = self.session = None
        key = None if public_key is None else bytes(public_key)
        if key is not None and len(key) != 32:
            raise Error(Code.INVALID_ARGUMENT, "a public key has 32 bytes, not %d" % len(key))
        self.plan = made(lib.camshaft_plan_open, os.fsencode(path), key)
        device_options = DeviceOptions(ctypes.sizeof(DeviceOptions), threads)
        opened = made(lib.camshaft_device_open, device.encode(), ctypes.byref(device_options))
        try:
            options = SessionOptions(ctypes.sizeof(SessionOptions),
                                     target.encode() if target else None)
            self.session = made(lib.camshaft_session_open, self.plan, opened, ctypes.byref(options))
        finally:
            lib.camshaft_device_close(opened)  # the session keeps what it needs of it

    def __del__(self):
        lib.camshaft_session_close(self.session)
        lib.camshaft_plan_close(self.plan)

    def tensors(self, count, describe):
        """{name: Tensor}, in the plan's order."""
        found = {}
        for index in range(count(self.plan)):
            info = made(describe, self.plan, index, kind=TensorInfo)
            name = info.name.decode()
            dtype = _dtype(info.dtype, name)
            is_output = describe is lib.camshaft_plan_output
            found[name] = Tensor(name, dtype, tuple(info.shape[:info.rank]), info.unit.decode(),
                                 self._slices(index, dtype) if is_output else {})
        return found

    def _slices(self, output, dtype):
        found = {}
        for index in range(lib.camshaft_plan_slice_count(self.plan, output)):
            info = made(lib.camshaft_plan_slice, self.plan, output, index, kind=SliceInfo)
            name = info.name.decode()
            found[name] = Slice(name, info.offset_bytes // dtype.itemsize,
                                tuple(info.shape[:info.rank]), info.unit.decode())
        return found

    def array(self, address, tensor):
        """A view of memory of the session's, which lives as long as the view."""
        count = int(np.prod(tensor.shape, dtype=np.int64))
        if count == 0:
            return np.empty(tensor.shape, tensor.dtype)
        memory = (ctypes.c_ubyte * (count * tensor.dtype.itemsize)).from_address(address)
        memory.owner = self
        return np.frombuffer(memory, tensor.dtype).reshape(tensor.shape)


class Session:
    """A plan on a device.

    `inputs` and `outputs` are {name: Tensor} in the plan's order. `device` is as for `camshaft run
    --device`; `threads`: most of a CPU device's that share the work (None: all usable); `target`:
    one of the plan's, where it has several (None: the first that fits the device); `public_key`:
    32 bytes, to require a signature by that key.
    """

    def __init__(self, plan, device="cpu", threads=None, target=None, public_key=None):
        if threads is not None and (isinstance(threads, bool) or not isinstance(threads, int) or
                                    not 1 <= threads < 2**32):
            raise Error(Code.INVALID_ARGUMENT, "threads must be a number from 1 on, not %r" %
                        (threads,))
        self._native = None
        self._lock = threading.Lock()
        self._written = set()  # inputs whose memory was given out
        native = _Native(plan, device, threads or 0, target, public_key)
        self.inputs = native.tensors(lib.camshaft_plan_input_count, lib.camshaft_plan_input)
        self.outputs = native.tensors(lib.camshaft_plan_output_count, lib.camshaft_plan_output)
        self._native = native

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """Gives everything back, as does the end of a `with`; arrays that view memory of the
        session stay valid, and keep it until they go. Closing again does nothing."""
        with self._lock:
            self._native = None

    def _open(self):
        if self._native is None:
            raise Error(Code.INVALID_ARGUMENT, "this Session is closed")
        return self._native

    def _index(self, native, name):
        """The number of an input; the library's sentence lists the names there are."""
        if not isinstance(name, str):
            raise Error(Code.INVALID_ARGUMENT, "inputs go by their names, not %r" % (name,))
        return made(lib.camshaft_plan_input_index, native.plan, name.encode(),
                    kind=ctypes.c_uint32).value

    def input(self, name):
        """The session's own memory of an input, as an array to be written between runs. What it
        holds stays from run to run, and from now on run() does without this input."""
        with self._lock:
            native = self._open()
            index = self._index(native, name)
            address, size = ctypes.c_void_p(), ctypes.c_uint64()
            check(lib.camshaft_session_input_data(native.session, index, ctypes.byref(address),
                                                  ctypes.byref(size)))
            self._written.add(name)
            return native.array(address.value, self.inputs[name])

    def run(self, inputs, copy=True):
        """Runs the plan on {name: array}, and returns {name: array}.

        All inputs must be there but those that input() was asked for. With copy=False the arrays
        are read-only views of the session's memory, which the next run overwrites. Where extents
        depend on data, the arrays are as long as they were in this run.
        """
        with self._lock:
            native = self._open()
            missing = [name for name in self.inputs
                       if name not in inputs and name not in self._written]
            if missing:
                raise Error(Code.INVALID_ARGUMENT, "run() lacks the inputs: " + ", ".join(missing))
            for name, array in inputs.items():
                self._set(native, name, array)
            check(lib.camshaft_session_run(native.session, None, None))
            return {tensor.name: self._output(native, index, tensor, copy)
                    for index, tensor in enumerate(self.outputs.values())}

    def reset_states(self):
        """Zeroes what the model remembers between runs."""
        with self._lock:
            check(lib.camshaft_session_reset_states(self._open().session))

    def _set(self, native, name, array):
        index = self._index(native, name)
        array = np.asarray(array)
        number = _number(array.dtype)
        if number is None:
            raise Error(Code.INVALID_ARGUMENT, "input '%s': a plan has no tensors of numpy's %s" %
                        (name, array.dtype))
        array = np.require(array, requirements="C")
        shape = (ctypes.c_int64 * array.ndim)(*array.shape)
        check(lib.camshaft_session_set_input(native.session, index, number, shape, array.ndim,
                                             array.ctypes.data, array.nbytes))

    def _output(self, native, index, tensor, copy):
        address, size = ctypes.c_void_p(), ctypes.c_uint64()
        check(lib.camshaft_session_output(native.session, index, ctypes.byref(address),
                                          ctypes.byref(size)))
        array = native.array(address.value, tensor)
        array.flags.writeable = False
        rank = len(tensor.shape)
        extents = (ctypes.c_int64 * rank)()
        check(lib.camshaft_session_output_extents(native.session, index, extents, rank, None))
        array = array[tuple(slice(extent) for extent in extents)]
        return array.copy() if copy else array
