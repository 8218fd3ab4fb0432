# SPDX-License-Identifier: MIT
"""What the build offers is there, and a name that isn't is answered with one that is."""

import os
import re
import sys
import unittest
from unittest import mock

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tools"))

import layers  # noqa: E402

with mock.patch.dict(sys.modules, {"SCons": mock.Mock(), "SCons.Script": mock.Mock()}):
    from buildsys import toolchain  # noqa: E402
from buildsys.source_tree import SourceTree  # noqa: E402
from buildsys.targets import Targets, near  # noqa: E402


class TableOfFolders(unittest.TestCase):
    def setUp(self):
        self.tree = SourceTree(ROOT)

    def test_every_row_has_files(self):
        empty = [row.folder for row in layers.LAYERS if not self.tree.of_layer(row.folder)]
        self.assertEqual(empty, [])

    def test_every_library_is_used(self):
        used = {layers.external_of(header) for path in self.tree.files
                for _, _, header in self.tree.includes(path)}
        self.assertEqual(set(layers.EXTERNALS) - used, set())

    def test_rows_name_only_folders_and_headers_that_are_there(self):
        known = {row.folder for row in layers.LAYERS} | set(self.tree.files)
        named = {name for row in layers.LAYERS
                 for name in row.may_include + row.provided_by + row.exception_files}
        self.assertEqual(named - known, set())


class Options(unittest.TestCase):
    def test_every_option_does_something(self):
        class Declared(list):
            """Takes what SCons' Variables would."""

            def Add(self, name, *_):
                self.append(name)

        declared = Declared()
        toolchain.add_options(declared, (lambda name, *_: name, lambda name, *_, **__: name))
        used = {row.option for row in layers.LAYERS}
        for path in ("SConstruct", "tools/buildsys/toolchain.py", "tools/buildsys/flavour.py"):
            with open(os.path.join(ROOT, path), encoding="utf-8") as f:
                used.update(re.findall(r'(?:env|base)\["(\w+)"\]', f.read()))
        self.assertIn("tests", declared)
        self.assertEqual(set(declared) - used, set())


class Names(unittest.TestCase):
    def setUp(self):
        self.targets = Targets()
        self.targets.add("test", "all tests")
        self.targets.add("test-FOLDER", "some of them")
        self.targets.add("runtime", "for devices")
        self.targets.add_missing("runtime-aarch64", "fetch its libraries")

    def refusal(self, *asked):
        return self.targets.refusal(asked, ["test", "runtime", "test-codegen_onnx"],
                                    lambda name: name == "build/camshaft")

    def test_what_is_there_is_not_refused(self):
        self.assertIsNone(self.refusal())
        self.assertIsNone(self.refusal("test", "runtime", "test-codegen_onnx", "build/camshaft"))

    def test_a_near_name_is_offered(self):
        self.assertEqual(self.refusal("runtime", "tset"),
                         "no target tset (did you mean test?); see scons --help")
        self.assertIn("did you mean test-codegen_onnx?", self.refusal("test-codegen_onx"))

    def test_a_far_name_is_not(self):
        self.assertEqual(self.refusal("install"), "no target install; see scons --help")

    def test_what_stands_for_others_is_no_name(self):
        self.assertNotIn("did you mean test-FOLDER", self.refusal("test-FOLDER"))

    def test_what_is_missing_here_says_why(self):
        self.assertEqual(self.refusal("runtime-aarch64"),
                         "no target runtime-aarch64 here: fetch its libraries")

    def test_near(self):
        self.assertEqual(near("mod", ["build", "mode"]), " (did you mean mode?)")
        self.assertEqual(near("cuda", ["build", "mode"]), "")

    def test_the_page_has_each_name_and_its_summary(self):
        page = self.targets.help_text("mode: fast or not")
        for text in ("test         all tests", "runtime      for devices", "mode: fast or not"):
            self.assertIn(text, page)
        self.assertNotIn("runtime-aarch64", page)


if __name__ == "__main__":
    unittest.main()
