# SPDX-License-Identifier: MIT
"""Messages of Camshaft's services: PubMaster and SubMaster, over the same shared memory as C++.

    pub = messaging.PubMaster(["controls"])
    message = messaging.new_message("controls")
    message.controls.steeringAngleRad = 0.1
    pub.send("controls", message)

    sub = messaging.SubMaster(["modelOutput", "vehicleState"], name="viewer")
    while True:
        sub.update(timeout_s=1)
        if sub["modelOutput"].updated:
            show(sub.message("modelOutput").modelOutput)
        if not sub.all_ok():
            print(sub.complaint())      # which service, how late, since when

The protocol is the C++ library's (libcamshaft_msgq.so); messages are pycapnp's, of
msgq/schema/messages.capnp. Without pycapnp, SubMaster.json() still reads all messages.
"""

import ctypes
import difflib
import json as _json
import math
import os
import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from numbers import Real

from camshaft._library import DEADLINE_EXCEEDED, ROOT, Error, ServiceState, Subscription, check, lib

__all__ = ["Error", "PubMaster", "Service", "SubMaster", "new_message", "now_ns", "schema",
           "services"]

_SCHEMA = os.path.join(ROOT, "msgq/schema/messages.capnp")
_SERVICES = os.path.join(ROOT, "msgq/schema/services.toml")
_loaded = {}
_SLICE_NS = 100_000_000  # until a signal's handler runs, Ctrl-C's too
_FOR_EVER_S = 1e9
_SUBSCRIBER_NAME = r"([A-Za-z0-9_-][A-Za-z0-9_.-]*)?"


@dataclass(frozen=True)
class Service:
    """A row of msgq/schema/services.toml."""

    name: str
    schema: str
    rate_hz: float
    log_decimation: int
    queue_bytes: int


def services():
    """The table of services, {name: Service}."""
    if "services" not in _loaded:
        with open(_SERVICES, "rb") as f:
            _loaded["services"] = {n: Service(n, **row) for n, row in tomllib.load(f).items()}
    return _loaded["services"]


def schema():
    """messages.capnp as pycapnp loads it."""
    if "schema" not in _loaded:
        import capnp
        packages = os.path.dirname(os.path.dirname(os.path.abspath(capnp.__file__)))
        _loaded["schema"] = capnp.load(_SCHEMA, imports=[packages])
    return _loaded["schema"]


def now_ns():
    """The clock of all times in messages and states."""
    return lib.camshaft_msgq_now_ns()


def new_message(service, valid=True):
    """A message with an empty body of the service's schema."""
    if service not in services():
        near = difflib.get_close_matches(service, services(), 1, 0.7)
        raise Error(1, "there is no service '%s'%s; there are %s" % (
            service, " (did you mean '%s'?)" % near[0] if near else "", ", ".join(services())))
    message = schema().Message.new_message(service=service, valid=valid)
    message.init(services()[service].schema)
    return message


def _list_of(names, what):
    """The names as a list. One string would be taken for a list of letters."""
    if isinstance(names, (str, bytes)):
        raise Error(1, "%s wants a list of services: %s([%r])" % (what, what, names))
    names = list(names) if isinstance(names, Iterable) else []
    if not names:
        raise Error(1, '%s wants a list of services, such as %s(["controls"])' % (what, what))
    return names


def _text(value, what):
    """What the library takes of a name."""
    if not isinstance(value, str):
        raise Error(1, "%s must be a string, not %r" % (what, value))
    return value.encode()


def _entry_of(entry):
    """The service and the options of an entry of SubMaster's names."""
    service, options = (entry, {}) if isinstance(entry, str) else (
        entry if isinstance(entry, (tuple, list)) and len(entry) == 2 else (None, None))
    if not isinstance(service, str) or not isinstance(options, dict):
        raise Error(1, "%r is no subscription: name a service, or a pair of its name and a dict of "
                       "options" % (entry,))
    return service, options


def _subscription(service, options):
    """What the library takes of an entry of SubMaster's names."""
    row = {"conflate": 1, "wakes": 1, "is_optional": 0, "rate_hz": -1.0}
    for option in options:
        if option not in row:
            raise Error(1, "subscription to '%s': there is no option '%s'; there are %s" % (
                service, option, ", ".join(row)))
    try:
        return Subscription(service=service.encode(), **{**row, **options})
    except TypeError as error:
        raise Error(1, "subscription to '%s': every option is a number, not %r" % (
            service, options)) from error


class PubMaster:
    """Sends messages of the services that a process publishes. One thread at a time."""

    def __init__(self, names, prefix=""):
        self._handle = ctypes.c_void_p()
        names = _list_of(names, "PubMaster")
        list_ = (ctypes.c_char_p * len(names))(*[_text(n, "a service") for n in names])
        check(lib.camshaft_publisher_open(_text(prefix, "prefix"), list_, len(names),
                                          ctypes.byref(self._handle)))

    def send(self, service, message):
        """Sends a message of new_message()'s, or bytes of one."""
        name = _text(service, "a service")
        if not isinstance(message, (bytes, bytearray)):
            if not hasattr(message, "monoTimeNs") or not hasattr(message, "to_bytes"):
                raise Error(1, "'%s' can't send %r: it takes a message of new_message()'s, or the "
                               "bytes of one" % (service, message))
            if message.monoTimeNs == 0:
                message.monoTimeNs = now_ns()
            message = message.to_bytes()
        check(lib.camshaft_publisher_send(self._handle, name, bytes(message), len(message)))

    def close(self):
        """Gives the topics up."""
        lib.camshaft_publisher_close(self._handle)
        self._handle = ctypes.c_void_p()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __del__(self):
        self.close()


class SubMaster:
    """The newest messages of services, and how they are doing. One thread at a time.

    A service in `names` is a name, or a pair of it and a dict of conflate, wakes, is_optional and
    rate_hz (msgq/services/sub_master.h says what they mean).
    """

    def __init__(self, names, name="", prefix=""):
        self._handle = ctypes.c_void_p()
        self._index, rows = {}, []
        if not isinstance(name, str) or not re.fullmatch(_SUBSCRIBER_NAME, name):
            raise Error(1, "%r can't be a subscriber's name: use letters, digits, '_', '-' and "
                           "'.', not first a '.'" % (name,))
        for entry in _list_of(names, "SubMaster"):
            service, options = _entry_of(entry)
            self._index[service] = len(rows)
            rows.append(_subscription(service, options))
        check(lib.camshaft_subscriber_open(_text(prefix, "prefix"), name.encode(),
                                           (Subscription * len(rows))(*rows), len(rows),
                                           ctypes.byref(self._handle)))
        self._states = [ServiceState() for _ in rows]
        self._messages = [None for _ in rows]
        self._refresh()

    def update(self, timeout_s=0.0):
        """Waits for messages, then takes them. Returns whether there was any."""
        if not isinstance(timeout_s, Real) or math.isnan(timeout_s):
            raise Error(1, "timeout_s must be a number of seconds, not %r" % (timeout_s,))
        deadline = now_ns() + int(max(0.0, min(timeout_s, _FOR_EVER_S)) * 1e9)
        updated = set()  # also by services that do not wake
        status, is_last = DEADLINE_EXCEEDED, False
        while status != 0 and not is_last:
            until = now_ns() + _SLICE_NS
            is_last = until >= deadline
            status = check(lib.camshaft_subscriber_update(self._handle, min(until, deadline)),
                           (DEADLINE_EXCEEDED,))
            self._refresh()
            updated |= {i for i, state in enumerate(self._states) if state.updated}
        for i in updated:
            self._states[i].updated = 1
        return status == 0

    def _refresh(self):
        data, size = ctypes.c_void_p(), ctypes.c_size_t()
        for i, state in enumerate(self._states):
            check(lib.camshaft_subscriber_state(self._handle, i, ctypes.byref(state)))
            if state.updated:
                check(lib.camshaft_subscriber_bytes(self._handle, i, ctypes.byref(data),
                                                    ctypes.byref(size)))
                self._messages[i] = ctypes.string_at(data, size.value)

    def _find(self, service):
        if isinstance(service, str) and service in self._index:
            return self._index[service]
        raise Error(1, "this SubMaster does not receive %r: name it when opening it; it receives %s"
                    % (service, ", ".join(self._index)))

    def __getitem__(self, service):
        """The service's state: updated, seen, alive, valid, rate_1s, late_by_ns, ..."""
        return self._states[self._find(service)]

    def bytes(self, service):
        """The bytes of the newest message that could be read, or None."""
        return self._messages[self._find(service)]

    def message(self, service):
        """The same as a Message of pycapnp's, or None."""
        data = self.bytes(service)
        if data is None:
            return None
        return schema().Message.from_bytes(data).__enter__()  # whose memory `data` it keeps

    def json(self, service):
        """The newest message as a dict, by the names of messages.capnp."""
        text = ctypes.c_char_p()
        check(lib.camshaft_subscriber_json(self._handle, self._find(service), ctypes.byref(text)))
        return _json.loads(text.value.decode())

    def all_ok(self):
        """Whether nothing is wrong with any service that is not optional."""
        return not self.complaint()

    def complaint(self):
        """Which services are late, by how much and since when, or not valid, and why; or ""."""
        if not self._handle:
            raise Error(1, "this SubMaster is closed")
        return lib.camshaft_subscriber_complaint(self._handle).decode(errors="replace")

    def close(self):
        """Gives the places at the topics back."""
        lib.camshaft_subscriber_close(self._handle)
        self._handle = ctypes.c_void_p()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __del__(self):
        self.close()
