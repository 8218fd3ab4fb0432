# SPDX-License-Identifier: MIT
"""What `scons NAME` can make: the page of `scons --help`, and what is said of a name that isn't
there."""

import difflib


class Targets:
    """The names that are offered, in order. What is declared here is all that the help names."""

    def __init__(self):
        self._rows = []
        self._missing = {}

    def add(self, name, summary):
        """Says on the help's page, in a few words, what a name makes."""
        self._rows.append((name, summary))

    def add_missing(self, name, reason):
        """A name that can't be made here, and what to do about it."""
        self._missing[name] = reason

    def help_text(self, options_text):
        """The page of `scons --help`."""
        width = max(len(name) for name, _ in self._rows)
        rows = ["  %-*s  %s" % (width, *row) for row in self._rows]
        return "\n".join(["Targets (scons -j2 TARGET NAME=VALUE):", *rows, "", "Options:",
                          options_text])

    def refusal(self, asked, names, is_file):
        """A sentence for the first of the asked names that is not to be had, or None.

        `names`: all that the build can make by a name of its own. `is_file(name)`: whether the
        build makes a file of that name, or there is one.
        """
        for name in asked:
            if name in self._missing:
                return "no target %s here: %s" % (name, self._missing[name])
            if name not in names and not is_file(name):
                offered = [row[0] for row in self._rows if row[0].islower()]  # not test-FOLDER
                return "no target %s%s; see scons --help" % (name, near(name, [*names, *offered]))
        return None


def near(name, names):
    """' (did you mean X?)' where one of the names is near, else nothing."""
    found = difflib.get_close_matches(name, list(names), 1, 0.7)
    return " (did you mean %s?)" % found[0] if found else ""
