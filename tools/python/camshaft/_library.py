# SPDX-License-Identifier: MIT
"""libcamshaft_msgq.so, whose C API is msgq/capi/camshaft_msgq.h."""

import ctypes
import os

from camshaft._error import Error

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
DEADLINE_EXCEEDED = 5


class Service(ctypes.Structure):
    """camshaft_service"""
    _fields_ = [("name", ctypes.c_char_p), ("schema", ctypes.c_char_p),
                ("rate_hz", ctypes.c_double), ("log_decimation", ctypes.c_uint32),
                ("queue_bytes", ctypes.c_uint64)]


class Subscription(ctypes.Structure):
    """camshaft_subscription"""
    _fields_ = [("service", ctypes.c_char_p), ("conflate", ctypes.c_uint32),
                ("wakes", ctypes.c_uint32), ("is_optional", ctypes.c_uint32),
                ("reserved", ctypes.c_uint32), ("rate_hz", ctypes.c_double)]


class ServiceState(ctypes.Structure):
    """camshaft_service_state"""
    _fields_ = ([(name, ctypes.c_uint32) for name in
                 ("updated", "seen", "alive", "valid", "rate_ok", "ok")] +
                [(name, ctypes.c_double) for name in ("rate_1s", "rate_10s")] +
                [(name, ctypes.c_int64) for name in
                 ("late_by_ns", "late_since_ns", "last_late_by_ns", "last_late_since_ns")] +
                [("times_late", ctypes.c_uint64), ("sequence", ctypes.c_uint64),
                 ("sent_ns", ctypes.c_int64)] +
                [(name, ctypes.c_uint64) for name in ("received", "dropped", "damaged")])


def _declare(library):
    """The signatures of the C API. ctypes lets other Python threads run during every call."""
    pointer, text, u32 = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_uint32
    out = ctypes.POINTER
    for name, result, arguments in (
            ("camshaft_msgq_last_error", text, []),
            ("camshaft_msgq_now_ns", ctypes.c_int64, []),
            ("camshaft_service_count", u32, []),
            ("camshaft_service_get", ctypes.c_int32, [u32, out(Service)]),
            ("camshaft_publisher_open", ctypes.c_int32, [text, out(text), u32, out(pointer)]),
            ("camshaft_publisher_close", None, [pointer]),
            ("camshaft_publisher_send", ctypes.c_int32, [pointer, text, text, ctypes.c_size_t]),
            ("camshaft_subscriber_open", ctypes.c_int32,
             [text, text, out(Subscription), u32, out(pointer)]),
            ("camshaft_subscriber_close", None, [pointer]),
            ("camshaft_subscriber_update", ctypes.c_int32, [pointer, ctypes.c_int64]),
            ("camshaft_subscriber_state", ctypes.c_int32, [pointer, u32, out(ServiceState)]),
            ("camshaft_subscriber_bytes", ctypes.c_int32,
             [pointer, u32, out(pointer), out(ctypes.c_size_t)]),
            ("camshaft_subscriber_json", ctypes.c_int32, [pointer, u32, out(text)]),
            ("camshaft_subscriber_complaint", text, [pointer])):
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments


def _load():
    path = os.environ.get("CAMSHAFT_MSGQ_LIBRARY") or os.path.join(
        os.environ.get("CAMSHAFT_BUILD", os.path.join(ROOT, "build")), "libcamshaft_msgq.so")
    if not os.path.exists(path):
        raise ImportError("no %s: build it with scons, or name it in CAMSHAFT_MSGQ_LIBRARY" % path)
    library = ctypes.CDLL(path)
    _declare(library)
    return library


lib = _load()


def check(status, ignore=()):
    """Raises Error for a status that is not 0 and not among those to ignore; returns it."""
    if status != 0 and status not in ignore:
        raise Error(status, lib.camshaft_msgq_last_error().decode(errors="replace"))
    return status
