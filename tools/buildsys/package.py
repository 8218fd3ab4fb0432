# SPDX-License-Identifier: MIT
"""Files for pkg-config: how programs outside of the tree compile and link what was built here."""

import os
import re

_VERSION_HEADER = "runtime/base/version.h"
# What of our own flags matters to whoever includes our headers, and links our libraries.
_COMPILER_FLAGS = ("-std=", "-pthread", "-fsanitize=")
_LINKER_FLAGS = ("-L", "-pthread", "-fsanitize=", "-static-lib", "-Wl,--gc-sections")


def compiler_flags(env):
    """Of an environment's flags, those that programs outside need, too."""
    words = env["CXXFLAGS"]
    system = [words[i:i + 2] for i, word in enumerate(words) if word == "-isystem"]
    return ([word for word in words if word.startswith(_COMPILER_FLAGS)] +
            ["-isystem${prefix}/" + folder for _, folder in system])


def linker_flags(env):
    """Likewise; folders of libraries are below the tree's root."""
    return [word.replace("-L", "-L${prefix}/") if word.startswith("-L") else word
            for word in env["LINKFLAGS"] if word.startswith(_LINKER_FLAGS)]


def page(name, description, folder, libraries, compiling, linking):
    """The text of a file. `folder`: of our own libraries, which use one another in circles."""
    with open(_VERSION_HEADER, encoding="utf-8") as f:
        version = re.search(r'kVersion = "([^"]+)"', f.read())[1]
    own = " ".join("-l" + library[len("lib"):-len(".a")] for library in libraries)
    return "\n".join(["prefix=" + os.getcwd(), "libdir=${prefix}/" + folder, "",
                      "Name: " + name, "Description: " + description, "Version: " + version,
                      "Cflags: -I${prefix} " + " ".join(compiling),
                      "Libs: -L${libdir} -Wl,--start-group %s -Wl,--end-group %s" % (
                          own, " ".join(linking)), ""])


def write(target, source, env):  # pylint: disable=unused-argument
    """The action of a build: writes PAGE."""
    with open(str(target[0]), "w", encoding="utf-8") as f:
        f.write(env["PAGE"])
