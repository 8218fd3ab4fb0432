# SPDX-License-Identifier: MIT
"""One way of building the tree: its objects, static libraries and programs.

Desktop, device and fuzz builds are three flavours that differ in flags and in the files they take.
"""

import os

from SCons.Script import Action

import layers
from buildsys import package, toolchain
from buildsys.precompiled import PrecompiledHeaders
from buildsys.source_tree import ONNX_HEADER, LinkClosure

_NOT_IN_LIBRARIES = ("_main.cc", "_test.cc", "_fuzz.cc", "_bench.cc")
_CATCH_ENTRY = "tests/support/catch_entry.cc"
_EXAMPLES = "tools/examples/"  # each file there is a program


def program_name(path):
    """The path below the build folder of the program that a file is, or None where it isn't one."""
    if path.endswith("_main.cc"):
        return path[:-len("_main.cc")]
    return path[:-len(".cc")] if path.startswith(_EXAMPLES) and path.endswith(".cc") else None


class Flavour:
    """Nodes are made on demand, so that a program needs no more than what it includes."""

    def __init__(self, env, tree, out, generated, device=False, desktop=None):
        """`desktop`: a flavour for the same machine, whose objects of small code are taken."""
        self._desktop = desktop
        self.env, self.tree, self.out, self.device = env, tree, out, device
        self._generated = generated
        self._objects, self._libraries = {}, {}
        self._headers = None
        env.Append(CPPPATH=["#", generated.folder])

    def selected(self, path):
        """Whether this flavour takes a file of the tree; the name of the file says it."""
        layer = layers.layer_of(path)
        if path.startswith("tests/must_fail/"):
            return False
        if layer is not None and layer.option and not self.env[layer.option]:
            return False
        if path.startswith(_EXAMPLES + "opencl_") and not self.env["opencl"]:
            return False
        stem = path.rpartition(".")[0]
        if stem.endswith("_desktop"):
            return not self.device
        if stem.endswith("_device"):
            return self.device
        if stem.endswith("_no_llvm"):
            return not self.env["llvm"]
        return self.env["llvm"] or not stem.endswith("_llvm")

    def object(self, path):
        """The object of one source file, written or generated."""
        if self._desktop and toolchain.is_small(path) and self._desktop.selected(path):
            return self._desktop.object(path)
        if path not in self._objects:
            name = path.replace(self._generated.folder, "gen", 1)
            header_flags, header = self._precompiled(path)
            self._objects[path] = self.env.Object(
                "#%s/obj/%s.o" % (self.out, name), "#" + path,
                CXXFLAGS=self.env["CXXFLAGS"] + header_flags + self._flags(path))
            if header:
                self.env.Depends(self._objects[path], header)
        return self._objects[path]

    def _precompiled(self, path):
        """The flags and the node of the precompiled header that a file uses."""
        if not toolchain.can_precompile(self.env):
            return [], None
        if self._headers is None:
            self._headers = PrecompiledHeaders(self.env, self.out, [
                self._header_group(f) for f in self.tree.files if f.endswith(".cc") and self.selected(f)])
        return self._headers.flags(self._header_group(path))

    def _header_group(self, path):
        if path.startswith(self._generated.folder) or path == _CATCH_ENTRY:
            return None
        return PrecompiledHeaders.group(self._flags(path), self.tree.externals(path))

    def _flags(self, path):
        if path.startswith(self._generated.folder):
            return ["-w"] + (["-include", "tools/buildsys/kj_compat.h"]
                             if path.endswith(".c++") else [])
        externals = self.tree.externals(path)
        return (toolchain.file_flags(path, "capnp" in externals, self.env["mode"] == "release") +
                toolchain.include_flags(externals))

    def closure(self, files):
        """What a set of files needs at link time."""
        return LinkClosure(self.tree, files, self._in_library)

    def _in_library(self, path):
        return (self.selected(path) and path != _CATCH_ENTRY and
                not path.endswith(_NOT_IN_LIBRARIES) and not path.startswith(_EXAMPLES))

    def library(self, folder):
        """The static library of a layer, or nothing where the layer is headers only."""
        if folder not in self._libraries:
            sources = [f for f in self.tree.of_layer(folder)
                       if f.endswith(".cc") and self._in_library(f)]
            sources += self._generated.sources(folder)
            objects = [self.object(s) for s in sources]
            self._libraries[folder] = self.env.StaticLibrary(
                "#%s/lib/%s" % (self.out, folder.replace("/", "_")), objects) if objects else []
        return self._libraries[folder]

    def _link_inputs(self, sources):
        own = sorted({layers.layer_of(s).folder for s in sources})
        closure = self.closure(sources + [f for folder in own for f in self.tree.of_layer(folder)
                                          if self._in_library(f)])
        names = [lib for e in sorted(closure.externals) for lib in layers.EXTERNALS[e].libs]
        flags = ["-L" + d for e in sorted(closure.externals) for d in layers.EXTERNALS[e].lib_dirs]
        flags += ["-l:lib%s.a" % n if self.device else "-l" + n for n in dict.fromkeys(names)]
        return own + [f for f in closure.folders if f not in own], flags

    def program(self, target, sources, extra_flags=()):
        """A program made of some files and of the layers that they include."""
        folders, flags = self._link_inputs(sources)
        self._refuse_codegen(target, folders)
        if any(s.endswith("_test.cc") for s in sources):
            sources = sources + [_CATCH_ENTRY]
        inputs = [self.object(s) for s in sources] + [self.library(f) for f in folders]
        return self.env.Program("#" + target, inputs, _LIBFLAGS=flags,
                                LINKFLAGS=self.env["LINKFLAGS"] + list(extra_flags))

    def shared_library(self, target, folder, extra_flags=(), extra_sources=()):
        """A shared library of one layer and all that it includes."""
        sources = [f for f in self.tree.of_layer(folder) if f.endswith(".cc") and self.selected(f)]
        folders, flags = self._link_inputs(sources)
        self._refuse_codegen(target, folders)
        inputs = [self.object(s) for s in list(extra_sources) + sources]
        inputs += [self.library(f) for f in folders if f != folder]
        command = "$LINK -shared -o $TARGET $LINKFLAGS %s $SOURCES %s" % (
            " ".join(extra_flags), " ".join(flags))
        return self.env.Command("#" + target, inputs,
                                Action(command, self.env.get("LINKCOMSTR")))

    def package(self, target, description, folders):
        """A pkg-config file with what programs outside of the tree need that use some layers, and
        those layers' libraries."""
        sources = [f for folder in folders for f in self.tree.of_layer(folder)
                   if self._in_library(f)]
        linked, flags = self._link_inputs(sources)
        self._refuse_codegen(target, linked)
        libraries = [library for folder in linked for library in self.library(folder)]
        page = package.page(os.path.basename(target)[:-len(".pc")], description,
                            "%s/lib" % self.out, [lib.name for lib in libraries],
                            package.compiler_flags(self.env),
                            package.linker_flags(self.env) + flags)
        return self.env.Command("#" + target, [self.env.Value(page)] + libraries,
                                Action(package.write, self.env.get("GENCOMSTR")), PAGE=page)

    def _refuse_codegen(self, target, folders):
        wrong = [f for f in folders if f.split("/")[0] == "codegen"]
        if self.device and wrong:
            raise ValueError("%s: the device build reaches %s through its includes; move that code "
                             "into a file named *_desktop.cc" % (target, ", ".join(wrong)))


class Generated:
    """Sources made of other files: Cap'n Proto schemas, the ONNX protobuf classes, the services."""

    def __init__(self, env, tree, folder, onnx_proto):
        self.folder = folder
        self._sources = {}
        for schema in (f for f in tree.files if f.endswith(".capnp")):
            made = ["%s/%s%s" % (folder, schema, suffix) for suffix in (".c++", ".h")]
            env.Command(["#" + m for m in made], "#" + schema,
                        Action("capnp compile -oc++:%s --src-prefix=. -I. $SOURCE" % folder,
                               env.get("GENCOMSTR")))
            self._add(layers.layer_of(schema), made[0])
        if onnx_proto and any(f.startswith("codegen/onnx/") for f in tree.files):
            stem = "%s/%s" % (folder, ONNX_HEADER[:-len(".h")])
            env.Command(["#%s.cc" % stem, "#%s.h" % stem], onnx_proto,
                        Action("protoc -I${SOURCE.dir} --cpp_out=${TARGET.dir} $SOURCE",
                               env.get("GENCOMSTR")))
            self._add(layers.layer_of(ONNX_HEADER), stem + ".cc")
        services = "msgq/schema/services.toml"
        if os.path.exists(os.path.join(tree.root, services)):
            made = "%s/%s.cc" % (folder, services)
            env.Command("#" + made, ["#" + services, "#tools/buildsys/services.py"],
                        Action("python3 ${SOURCES[1]} ${SOURCES[0]} $TARGET",
                               env.get("GENCOMSTR")))
            self._add(layers.layer_of(services), made)

    def _add(self, layer, source):
        self._sources.setdefault(layer.folder, []).append(source)

    def sources(self, folder):
        """The generated sources that belong to a layer."""
        return self._sources.get(folder, [])
