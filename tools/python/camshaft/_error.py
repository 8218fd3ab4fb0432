# SPDX-License-Identifier: MIT
"""What both libraries' calls fail with."""

import enum


class Code(enum.IntEnum):
    """What kind of failure an error is: the statuses of the C APIs."""
    INVALID_ARGUMENT = 1
    UNSUPPORTED = 2
    WRONG_TARGET = 3
    OUT_OF_TOLERANCE = 4
    DEADLINE_EXCEEDED = 5
    CORRUPT = 6
    NOT_FOUND = 7
    IO = 8
    OUT_OF_MEMORY = 9
    DEVICE_FAULT = 10
    INTERNAL = 11
    BOUND_EXCEEDED = 12
    BUSY = 13


class Error(Exception):
    """A call that failed; the text says what was wrong and what to do, `code` is one of Code."""

    def __init__(self, code, text):
        super().__init__(text)
        self.code = code
