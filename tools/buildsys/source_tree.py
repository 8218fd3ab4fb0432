# SPDX-License-Identifier: MIT
"""The source files of the tree and the includes between them."""

import os
import re

import layers

_INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]')
_SUFFIXES = (".cc", ".h", ".capnp")

ONNX_HEADER = "codegen/onnx/onnx.pb.h"  # generated from the packaged onnx.proto


class SourceTree:
    """A snapshot of the tree below `root`; paths are relative to it, with forward slashes."""

    def __init__(self, root):
        self.root = root
        self.files = sorted(self._walk())
        self._known = set(self.files)
        self._includes = {}

    def _walk(self):
        for top in layers.TOP_FOLDERS:
            for folder, subfolders, names in os.walk(os.path.join(self.root, top)):
                subfolders[:] = [s for s in subfolders if not s.startswith((".", "__"))]
                relative = os.path.relpath(folder, self.root).replace(os.sep, "/")
                for name in names:
                    if name.endswith(_SUFFIXES) and not name.startswith("."):
                        yield relative + "/" + name

    def includes(self, path):
        """The includes of a file, in order: (line number, quoted, path as written)."""
        if path not in self._includes:
            with open(os.path.join(self.root, path), encoding="utf-8", errors="replace") as f:
                lines = [(n, _INCLUDE.match(line)) for n, line in enumerate(f, 1)]
            self._includes[path] = [(n, m[1] == '"', m[2]) for n, m in lines if m]
        return self._includes[path]

    def is_ours(self, header):
        """Whether an include path names a header of ours, written or generated."""
        return (header in self._known or header == ONNX_HEADER or
                (header.endswith(".capnp.h") and header[:-2] in self._known))

    def externals(self, path):
        """The external libraries whose headers a file sees, directly or through headers of ours."""
        found, seen, pending = set(), set(), [path]
        while pending:
            current = pending.pop()
            if current in seen:
                continue
            seen.add(current)
            if current == ONNX_HEADER:
                found.add("protobuf")
            elif current.endswith(".capnp.h"):
                found.add("capnp")
            else:
                for _, _, header in self.includes(current):
                    if self.is_ours(header):
                        pending.append(header)
                    else:
                        found |= {layers.external_of(header)} - {None}
        return found

    def of_layer(self, folder):
        """The files of one layer."""
        return [f for f in self.files if (layers.layer_of(f) or layers.Layer("")).folder == folder]


class LinkClosure:
    """What a set of files needs at link time: layers of ours and external libraries.

    A layer is a static library, so an include of one of its headers brings in the layer with all
    that the layer's own (selected) files include.
    """

    def __init__(self, tree, files, selected):
        self.folders, self.externals = [], set()
        self._tree = tree
        pending = list(files)
        while pending:
            for folder in self._scan(pending.pop()):
                if folder not in self.folders:
                    self.folders.append(folder)
                    pending.extend(f for f in tree.of_layer(folder) if selected(f))

    def _scan(self, path):
        if path.endswith(".capnp"):
            self.externals.add("capnp")
            return
        for _, _, header in self._tree.includes(path):
            if header == ONNX_HEADER:
                self.externals.add("protobuf")
            if self._tree.is_ours(header):
                layer = layers.layer_of(header)
                if layer:
                    yield layer.folder
                    yield from layer.provided_by
            elif layers.external_of(header):
                self.externals.add(layers.external_of(header))
