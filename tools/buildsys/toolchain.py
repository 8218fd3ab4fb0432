# SPDX-License-Identifier: MIT
"""Options of the build and the compiler flags that they mean."""

import os
import shutil

import layers
from buildsys import precompiled

SANITIZERS = ("address", "undefined", "thread")

_WARNINGS = ["-Wall", "-Wextra", "-Wshadow", "-Werror", "-Wthread-safety"]
_SANITIZER_FLAGS = ["-fno-omit-frame-pointer", "-fno-sanitize-recover=all"]
# Files whose speed counts in a build that is made small: every byte of a plan goes through it.
_FAST_FILES = ("runtime/plan/checksum.cc",)
_PASSED_ON = ("HOME", "PATH", "TMPDIR", "LANG", "CI")
_PASSED_ON_PREFIXES = ("CCACHE_", "ASAN_", "UBSAN_", "TSAN_", "LSAN_", "CAMSHAFT_")


def add_options(variables, types):
    """Declares the options that a user may give as name=value. `types` holds SCons' makers."""
    boolean, enum = types
    variables.Add("build", "output folder", "build")
    variables.Add("cxx", "the C++ compiler", "clang++-19")
    variables.Add(enum("mode", "optimised, or with CAMSHAFT_DCHECK", "release",
                       allowed_values=("release", "debug")))
    variables.Add("sanitize", "comma list of " + ", ".join(SANITIZERS), "")
    variables.Add(boolean("llvm", "build the llvm target", True))
    variables.Add(boolean("opencl", "build the OpenCL backend", True))
    variables.Add(boolean("pch", "use precompiled headers", True))
    variables.Add(boolean("verbose", "print whole command lines", False))
    variables.Add("bench_args", "arguments of every C++ benchmark", "")
    variables.Add("peers_args", "arguments of tools/bench_peers", "")
    variables.Add("fuzz_runs", "inputs that each fuzzer tries", "100000")
    variables.Add("fuzz_graphs", "random graphs that are compared", "20000")
    variables.Add("tests", "only the tests whose path holds this text, as tests/e2e/zoo does", "")


def sanitizers(env):
    """The requested sanitizers, checked and in a fixed order."""
    asked = {s for s in env["sanitize"].split(",") if s}
    unknown = asked - set(SANITIZERS)
    if unknown:
        raise ValueError("sanitize=%s: unknown; use %s" % (",".join(sorted(unknown)),
                                                           ", ".join(SANITIZERS)))
    if {"address", "thread"} <= asked:
        raise ValueError("sanitize: address and thread exclude each other")
    return [s for s in SANITIZERS if s in asked]


def output_folder(env):
    """The folder of this configuration: the plain release build owns `build` itself."""
    if os.path.isabs(env["build"]) or ".." in env["build"].split("/"):
        raise ValueError("build=%s: name a folder inside the tree" % env["build"])
    parts = [env["build"]]
    if env["mode"] != "release":
        parts.append(env["mode"])
    if sanitizers(env):
        parts.append("sanitize-" + "-".join(sanitizers(env)))
    return "/".join(parts)


def configure(env):
    """Sets compiler, flags and defines that all files of the desktop build share."""
    env["ENV"] = {k: v for k, v in os.environ.items()
                  if k in _PASSED_ON or k.startswith(_PASSED_ON_PREFIXES)}
    env["ENV"].update(precompiled.cache_settings(os.environ))
    if not shutil.which(env["cxx"]):
        raise ValueError("no compiler %s: run tools/setup.sh, or say cxx=..." % env["cxx"])
    ccache = "ccache " if shutil.which("ccache") else ""
    env.Replace(CXX=ccache + env["cxx"], LINK=env["cxx"], AR=_near(env, "llvm-ar", "ar"),
                ARFLAGS=["rcs"], RANLIBCOM="")
    env.Append(CXXFLAGS=["-std=c++20", "-pthread", "-fPIC", "-fvisibility=hidden",
                         "-fvisibility-inlines-hidden"],
               LINKFLAGS=["-fuse-ld=lld", "-pthread", "-Wl,--as-needed"],
               # CUDA stands for nothing: it goes with the next change that compiles all anew.
               CPPDEFINES={"CAMSHAFT_WITH_LLVM": int(env["llvm"]), "CAMSHAFT_WITH_CUDA": 1,
                           "CAMSHAFT_WITH_OPENCL": int(env["opencl"])})
    if not env["verbose"]:
        env.Replace(CXXCOMSTR="  compile $SOURCE", LINKCOMSTR="  link    $TARGET",
                    ARCOMSTR="  archive $TARGET", GENCOMSTR="  make    $TARGETS")
    checked = env["mode"] == "debug" or sanitizers(env)
    env.Append(CXXFLAGS=["-O0", "-g"] if env["mode"] == "debug" else ["-O2", "-g1"],
               CPPDEFINES={"CAMSHAFT_DCHECKS": 1} if checked else {"NDEBUG": None})
    if sanitizers(env):
        flag = ["-fsanitize=" + ",".join(sanitizers(env))] + _SANITIZER_FLAGS
        # vptr and function need the RTTI that most of the tree is built without.
        env.Append(CXXFLAGS=flag + ["-fno-sanitize=vptr,function"], LINKFLAGS=flag)


def can_precompile(env):
    """Whether files are compiled with precompiled headers, as clang makes them."""
    return env["pch"] and "clang" in env["cxx"]


def configure_device(env):
    """Turns a copy of the desktop environment into the small, self-contained device build."""
    env["llvm"] = False
    env.Append(CPPDEFINES={"CAMSHAFT_WITH_LLVM": 0, "CAMSHAFT_DEVICE_BUILD": 1},
               CXXFLAGS=["-Os", "-g0", "-ffunction-sections", "-fdata-sections"],
               LINKFLAGS=["-static-libstdc++", "-static-libgcc", "-Wl,--gc-sections", "-Wl,--icf=all",
                          "-Wl,-z,defs", "-Wl,-z,relro,-z,now"])


AARCH64_LIBRARIES = "build/aarch64-libraries"  # unpacked by tools/setup.sh


def can_build_aarch64():
    """Whether tools/setup.sh has brought what the AArch64 device build links."""
    return os.path.exists(AARCH64_LIBRARIES + "/.complete")


def configure_aarch64(env):
    """Turns a copy of the device environment into the one that builds it for AArch64 Linux."""
    usr = AARCH64_LIBRARIES + "/usr"
    for tool in ("CXX", "LINK"):
        env[tool] += " --target=aarch64-linux-gnu"
    env.Append(CXXFLAGS=["-isystem", usr + "/include", "-isystem", usr + "/include/aarch64-linux-gnu"],
               LINKFLAGS=["-L%s/lib/aarch64-linux-gnu" % usr])


def configure_fuzz(env):
    """Turns a copy of the desktop environment into the one that libFuzzer drives."""
    flags = ["-fsanitize=address,undefined", "-fno-sanitize=vptr,function"] + _SANITIZER_FLAGS
    env.Append(CPPDEFINES={"CAMSHAFT_DCHECKS": 1},
               CXXFLAGS=flags + ["-O1", "-g1", "-fsanitize=fuzzer-no-link"], LINKFLAGS=flags)


def is_small(path):
    """Whether a file is compiled for size: code of the command that nobody waits for, which the
    desktop and the device build share."""
    return path.startswith(("tools/command/", "tools/io/"))


def file_flags(path, uses_capnp, optimised):
    """The flags of one source file, beyond those of its environment."""
    top = path.split("/")[0]
    flags = list(_WARNINGS)
    if top in layers.STRICT_TREES and not layers.uses_exceptions(path):
        flags += ["-fno-exceptions", "-fno-rtti"]
    if top in layers.NO_GLOBAL_CONSTRUCTORS and not layers.uses_exceptions(path):
        flags += ["-Wglobal-constructors"]
    if path in _FAST_FILES and optimised:
        flags += ["-O3"]
    if is_small(path) and optimised:
        flags += ["-Os", "-ffunction-sections", "-fdata-sections"]
    if path.startswith("tests/") and path.endswith("_test.cc") and optimised:
        flags += ["-O0"]  # compiled more often than run
    return flags + (["-include", "tools/buildsys/kj_compat.h"] if uses_capnp else [])


def include_flags(externals):
    """Include folders of the external libraries that a file may use, as system folders."""
    folders = [f for name in sorted(externals) for f in layers.EXTERNALS[name].include_dirs]
    return [word for folder in folders for word in ("-isystem", folder)]


def _near(env, llvm_name, fallback):
    version = env["cxx"].rpartition("-")[2]
    name = "%s-%s" % (llvm_name, version) if version.isdigit() else llvm_name
    return name if shutil.which(name) else fallback
