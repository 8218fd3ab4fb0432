# SPDX-License-Identifier: MIT
"""The one table of folders: what each may include, which libraries it may use, how it is compiled.

SConstruct builds one static library a row from it, and tools/check_deps enforces it. A new folder
below runtime/, devices/, codegen/ or msgq/ needs a row here; below tools/, models/, selfdrive_demo/
and tests/ it needs nothing.
"""

from dataclasses import dataclass

ANYTHING = "*"


@dataclass(frozen=True)
class Layer:
    """One folder. `may_include` names folders or single headers, and is transitive."""

    folder: str
    may_include: tuple = ()
    external: tuple = ()  # names in EXTERNALS, not transitive
    exceptions: bool = False  # every file of it is built with exceptions and RTTI
    exception_files: tuple = ()  # or only these: the boundaries to libraries that throw
    option: str = ""  # left out of the build where this option of scons is 0
    provided_by: tuple = ()  # folders that define what this one's headers declare


@dataclass(frozen=True)
class External:
    """A third-party library: the headers that reveal its use, and what to link."""

    headers: tuple  # prefixes of #include paths
    libs: tuple = ()
    include_dirs: tuple = ()
    lib_dirs: tuple = ()


_BACKEND = ("devices/hal", "devices/hwio", "runtime/base")
_CODEGEN = ("codegen/ir", "runtime/base")

LAYERS = (
    Layer("runtime/base"),
    Layer("runtime/plan", ("runtime/base",), ("capnp", "sodium", "xxhash"),
          exception_files=("runtime/plan/metadata.cc",
                           "runtime/plan/kj_exceptions_device.cc")),
    Layer("runtime/session", ("runtime/plan", "runtime/base", "devices/hal/device.h")),
    Layer("runtime/realtime", ("runtime/base",)),
    Layer("runtime/capi", ("runtime/session", "devices/registry.h")),
    Layer("devices/hal", ("runtime/base",)),
    Layer("devices/hwio", ("runtime/base",)),
    Layer("devices/null", _BACKEND),
    Layer("devices/cpu", _BACKEND),
    Layer("devices/opencl", _BACKEND, ("opencl",), option="opencl"),
    # Files directly in devices/: the registry, the only code that names every backend.
    Layer("devices", _BACKEND + ("devices/null", "devices/cpu", "devices/opencl")),
    Layer("codegen/ir", ("runtime/base",), ("eigen",)),
    Layer("codegen/onnx", _CODEGEN, ("json", "protobuf")),
    Layer("codegen/passes", _CODEGEN),
    Layer("codegen/schedule", _CODEGEN),
    # Two headers of its neighbours: the regions that it lowers, the numbers of the target.
    Layer("codegen/lower", _CODEGEN + ("codegen/schedule/schedule.h", "codegen/render/render.h")),
    Layer("codegen/render", _CODEGEN, ("llvm",)),
    Layer("codegen/tune", _CODEGEN + ("codegen/lower/lower.h", "codegen/schedule/schedule.h",
                                      "codegen/render/render.h"), ("json", "xxhash")),
    Layer("codegen/emit", ("codegen/ir", "codegen/onnx", "codegen/passes", "codegen/schedule",
                           "codegen/lower", "codegen/render", "codegen/tune", "runtime/plan"),
          ("sodium", "xxhash", "zstd")),
    Layer("msgq/queue", ("runtime/base",), ("xxhash",)),
    Layer("msgq/transport", ("msgq/queue", "runtime/base")),
    # Apart from the transports, so that a device build of those needs no ZeroMQ.
    Layer("msgq/bridge", ("msgq/transport", "runtime/base"), ("zmq",)),
    Layer("msgq/capi", ("msgq/services", "msgq/transport", "msgq/schema", "runtime/base")),
    Layer("msgq/services", ("msgq/transport", "msgq/schema", "runtime/base")),
    Layer("msgq/frames", ("msgq/queue", "runtime/base")),
    Layer("msgq/schema", ("runtime/base",), ("capnp",),
          exception_files=("msgq/schema/codec.cc",)),
)

# Each folder below these is a layer of its own, whose name is made of this many path components.
OPEN_TREES = {"tools": 2, "models": 2, "selfdrive_demo": 2, "tests": None}

_LLVM_DIRS = {"include_dirs": ("/usr/lib/llvm-19/include",), "lib_dirs": ("/usr/lib/llvm-19/lib",)}
EXTERNALS = {
    "capnp": External(("capnp/", "kj/"), ("capnp", "kj")),
    "catch2": External(("catch2/",)),
    "cli11": External(("CLI/",)),
    "eigen": External(("Eigen/", "unsupported/Eigen/"), include_dirs=("/usr/include/eigen3",)),
    "json": External(("nlohmann/",)),
    "libav": External(("libavcodec/", "libavformat/", "libavutil/", "libswscale/"),
                      ("avformat", "avcodec", "swscale", "avutil")),
    "llvm": External(("llvm/", "llvm-c/"), ("LLVM-19",), **_LLVM_DIRS),
    "opencl": External(("CL/",)),  # opened at run time
    "png": External(("png.h",), ("png16", "z")),
    "protobuf": External(("google/protobuf/",), ("protobuf",)),
    "sodium": External(("sodium.h", "sodium/"), ("sodium",)),
    "xxhash": External(("xxhash.h", "xxh3.h"), ("xxhash",)),
    "zlib": External(("zlib.h",), ("z",)),
    "zmq": External(("zmq.h", "zmq.hpp"), ("zmq",)),
    "zstd": External(("zstd.h",), ("zstd",)),
}

# Trees whose code must stay free of exceptions, RTTI and global constructors.
STRICT_TREES = ("runtime", "devices", "msgq", "codegen")
NO_GLOBAL_CONSTRUCTORS = ("runtime", "devices", "msgq")

TOP_FOLDERS = ("runtime", "devices", "codegen", "models", "msgq", "tools", "selfdrive_demo",
               "tests")

_BY_FOLDER = {layer.folder: layer for layer in LAYERS}


def layer_of(path):
    """The layer that owns a file (path from the repository root), or None where no row covers it."""
    parts = path.split("/")[:-1]
    if parts and parts[0] in OPEN_TREES:
        depth = OPEN_TREES[parts[0]]
        return Layer("/".join(parts[:depth]), (ANYTHING,), (ANYTHING,), exceptions=True)
    for length in range(len(parts), 0, -1):
        folder = "/".join(parts[:length])
        if folder in _BY_FOLDER and (folder != "devices" or length == len(parts)):
            return _BY_FOLDER[folder]
    return None


def uses_exceptions(path):
    """Whether a file is built with exceptions and RTTI."""
    layer = layer_of(path)
    return layer is not None and (layer.exceptions or path in layer.exception_files)


def allowed(layer):
    """All folders and headers that a layer may include, itself among them."""
    seen, pending = set(), [layer.folder]
    while pending:
        name = pending.pop()
        if name in seen:
            continue
        seen.add(name)
        row = layer if name == layer.folder else _BY_FOLDER.get(name)
        pending.extend(row.may_include if row else ())
    return seen


def may_include(layer, header):
    """Whether a layer may include a header of ours (path from the repository root)."""
    names = allowed(layer)
    owner = layer_of(header)
    return ANYTHING in names or header in names or (owner is not None and owner.folder in names)


def external_of(header):
    """The name of the third-party library that an include path belongs to, or None."""
    for name, external in EXTERNALS.items():
        if header.startswith(external.headers):
            return name
    return None
