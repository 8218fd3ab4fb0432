# SPDX-License-Identifier: MIT
"""A set of topics and pools of a test's own: a prefix, whose folder goes away at the end."""

import itertools
import os
import shutil

_count = itertools.count(1)


class QueueDomain:
    """Use as a context."""

    def __init__(self):
        self.prefix = "test-py-%d-%d" % (os.getpid(), next(_count))
        self.folder = "/dev/shm/camshaft_" + self.prefix

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.folder, ignore_errors=True)
