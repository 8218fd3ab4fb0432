# SPDX-License-Identifier: MIT
"""libcamshaft.so, whose C API is runtime/capi/camshaft.h."""

import ctypes
import os

from camshaft._error import Code, Error

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))

# By the plan format's number: numpy's names. numpy has no bfloat16 of its own.
DTYPES = ("float32", "float64", "float16", "bfloat16", "int8", "int16", "int32", "int64", "uint8",
          "uint16", "uint32", "uint64", "bool")


class TensorInfo(ctypes.Structure):
    """camshaft_tensor_info"""
    _fields_ = [("name", ctypes.c_char_p), ("dtype", ctypes.c_uint32), ("rank", ctypes.c_uint32),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("size_bytes", ctypes.c_uint64),
                ("unit", ctypes.c_char_p)]


class SliceInfo(ctypes.Structure):
    """camshaft_slice_info"""
    _fields_ = [("name", ctypes.c_char_p), ("rank", ctypes.c_uint32),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("offset_bytes", ctypes.c_uint64),
                ("size_bytes", ctypes.c_uint64), ("unit", ctypes.c_char_p)]


class DeviceOptions(ctypes.Structure):
    """camshaft_device_options"""
    _fields_ = [("struct_size", ctypes.c_size_t), ("threads", ctypes.c_uint32),
                ("cpu_count", ctypes.c_uint32), ("cpus", ctypes.POINTER(ctypes.c_uint32)),
                ("no_huge_pages", ctypes.c_uint32)]


class SessionOptions(ctypes.Structure):
    """camshaft_session_options"""
    _fields_ = [("struct_size", ctypes.c_size_t), ("target", ctypes.c_char_p)]


def _declare(library):
    """The signatures of the C API. ctypes lets other Python threads run during every call."""
    pointer, text, u32, u64 = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_uint32, ctypes.c_uint64
    i64s, out = ctypes.POINTER(ctypes.c_int64), ctypes.POINTER
    status = ctypes.c_int32
    for name, result, arguments in (
            ("last_error", text, []),
            ("plan_open", status, [text, text, out(pointer)]),
            ("plan_close", None, [pointer]),
            ("plan_input_count", u32, [pointer]),
            ("plan_output_count", u32, [pointer]),
            ("plan_input", status, [pointer, u32, out(TensorInfo)]),
            ("plan_output", status, [pointer, u32, out(TensorInfo)]),
            ("plan_slice_count", u32, [pointer, u32]),
            ("plan_slice", status, [pointer, u32, u32, out(SliceInfo)]),
            ("plan_input_index", status, [pointer, text, out(u32)]),
            ("device_open", status, [text, out(DeviceOptions), out(pointer)]),
            ("device_close", None, [pointer]),
            ("session_open", status, [pointer, pointer, out(SessionOptions), out(pointer)]),
            ("session_close", None, [pointer]),
            ("session_set_input", status, [pointer, u32, u32, i64s, u32, pointer, u64]),
            ("session_input_data", status, [pointer, u32, out(pointer), out(u64)]),
            ("session_run", status, [pointer, pointer, pointer]),
            ("session_output", status, [pointer, u32, out(pointer), out(u64)]),
            ("session_output_extents", status, [pointer, u32, i64s, u32, out(u32)]),
            ("session_reset_states", status, [pointer])):
        function = getattr(library, "camshaft_" + name)
        function.restype, function.argtypes = result, arguments


def _path():
    build = os.environ.get("CAMSHAFT_BUILD", os.path.join(ROOT, "build"))
    places = [os.environ.get("CAMSHAFT_LIBRARY") or os.path.join(build, "libcamshaft.so")]
    if "CAMSHAFT_LIBRARY" not in os.environ:
        places.append(os.path.join(build, "runtime", "libcamshaft.so"))  # the device build's
    for path in places:
        if os.path.exists(path):
            return path
    raise ImportError("no %s: build it with scons, or name it in CAMSHAFT_LIBRARY" % places[0])


lib = ctypes.CDLL(_path())
_declare(lib)


def check(status):
    """Raises Error for a status that is not 0."""
    if status != 0:
        raise Error(Code(status), lib.camshaft_last_error().decode(errors="replace"))


def made(function, *arguments, kind=ctypes.c_void_p):
    """What a call writes through its last pointer."""
    result = kind()
    check(function(*arguments, ctypes.byref(result)))
    return result
