# SPDX-License-Identifier: MIT
"""Precompiled headers: most of the time to compile a file goes into headers that never change.

Files get the standard headers that nearly all of them include, and those of the slow external
libraries that they see anyway. A file must still include what it uses: `scons pch=0` compiles
without, and a compiler that isn't clang always does.
"""

import collections
import hashlib
import os
import subprocess

from SCons.Script import Action

from buildsys.source_tree import ONNX_HEADER

_STANDARD = ("algorithm", "array", "atomic", "cstdint", "cstdio", "cstdlib", "cstring", "functional",
             "map", "memory", "optional", "set", "span", "string", "string_view", "utility",
             "variant", "vector")
_SLOW = {"catch2": "<catch2/catch.hpp>", "cli11": "<CLI/CLI.hpp>", "json": "<nlohmann/json.hpp>",
         "protobuf": '"%s"' % ONNX_HEADER}
_FEWEST_FILES = 4  # that pay for a header of their own


class PrecompiledHeaders:
    """The headers of one flavour of the build, made on demand."""

    def __init__(self, env, folder, groups):
        """`groups`: of each file that may use one, what group() says of it."""
        self._env, self._folder = env, folder
        counts = collections.Counter(groups)
        self._used = {group for group, count in counts.items() if count >= _FEWEST_FILES}
        self._nodes = {}

    @staticmethod
    def group(flags, externals):
        """Files of one group share a header: the same language, optimised alike, the same slow
        libraries."""
        return (tuple(f for f in flags if f.startswith(("-fno-", "-O"))),
                tuple(sorted(e for e in externals if e in _SLOW)))

    def flags(self, group):
        """The flags and the node to depend on; nothing where the group has no header."""
        if group is None or group not in self._used:
            return [], None
        if group not in self._nodes:
            self._nodes[group] = self._make(*group)
        return ["-include-pch", str(self._nodes[group][0])], self._nodes[group]

    def _make(self, language, slow):
        name = "_".join((("strict" if "-fno-exceptions" in language else "plain"),) +
                        tuple(f[1:] for f in language if f.startswith("-O")) + slow)
        base = "#%s/pch/%s" % (self._folder, name)
        lines = ["#include <%s>\n" % h for h in _STANDARD]
        lines += ["#include %s\n" % _SLOW[s] for s in slow]
        header = self._env.Command(base + ".h", [], Action(_write_header, lambda *_: None),
                                   HEADER="".join(lines))
        self._env.Depends(header, self._env.Value("".join(lines)))
        compiler = self._env["CXX"].replace("ccache ", "", 1)
        # Without time stamps the same headers give the same file. The compiler cache takes the sum
        # of what went in instead, since the file has the folder's name in it.
        command = ("%s -x c++-header -w -Xclang -fno-pch-timestamp $CXXFLAGS %s $CCFLAGS $_CCCOMCOM "
                   "-o $TARGET $SOURCE" % (compiler, " ".join(language)))
        return self._env.Command([base + ".pch", base + ".pch.sum"], header,
                                 [Action(command, self._env.get("CXXCOMSTR")),
                                  Action(_write_sum, lambda *_: None)],
                                 LANGUAGE=" ".join(language),
                                 PREPROCESS=command.replace("-o $TARGET", "-E -P -o -"))


def _write_header(target, source, env):  # pylint: disable=unused-argument
    with open(str(target[0]), "w", encoding="ascii") as f:
        f.write(env["HEADER"])


def _write_sum(target, source, env):
    """The sum of the text that the header stands for, and of how it was compiled."""
    command = env.subst("$PREPROCESS", target=target, source=source)
    text = subprocess.run(command, shell=True, check=True, capture_output=True,
                          env={k: str(v) for k, v in env["ENV"].items()}).stdout
    version = subprocess.run([env["LINK"].split()[0], "--version"], check=True,
                             capture_output=True).stdout
    flags = env.subst("$CXXFLAGS $LANGUAGE $CCFLAGS $_CPPDEFFLAGS").encode()
    with open(str(target[1]), "w", encoding="ascii") as f:
        f.write(hashlib.sha256(b"\0".join((text, version, flags))).hexdigest() + "\n")


def cache_settings(environment):
    """What the compiler cache must be told to keep objects that use such headers."""
    return {"CCACHE_SLOPPINESS": environment.get("CCACHE_SLOPPINESS", "pch_defines,time_macros"),
            "CCACHE_PCH_EXTSUM": "1"}
