# SPDX-License-Identifier: MIT
"""Camshaft from Python: plans (camshaft.Session) and messages (camshaft.messaging)."""

from camshaft._error import Code, Error

__all__ = ["Code", "Error", "Session"]


def __getattr__(name):
    # Not before it is asked for: messages need neither numpy nor the library that runs plans.
    if name == "Session":
        from camshaft.session import Session
        return Session
    raise AttributeError("module 'camshaft' has no attribute %r" % name)
