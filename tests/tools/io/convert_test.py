# SPDX-License-Identifier: MIT
"""Array and picture files against numpy's and Pillow's own readers and writers."""

import os
import subprocess
import tempfile
import unittest

import e2e
import numpy as np
from PIL import Image

CONVERT = os.path.join(e2e.BUILD, "tests", "tools", "io", "convert")
DTYPES = ["f4", "f8", "f2", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "?"]


class Convert(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.rng = np.random.default_rng(1)

    def path(self, name):
        return os.path.join(self.folder, name)

    def convert(self, source, target):
        return subprocess.run([CONVERT, self.path(source), self.path(target)], text=True,
                              capture_output=True)

    def converted(self, source, target):
        done = self.convert(source, target)
        self.assertEqual(done.returncode, 0, done.stderr)
        return np.load(self.path(target))

    def assert_same(self, one, other):
        self.assertEqual((one.dtype, one.shape), (other.dtype, other.shape))
        np.testing.assert_array_equal(one, other)

    def test_arrays_of_every_type_and_order(self):
        for dtype in DTYPES:
            plain = self.rng.integers(0, 100, (2, 3, 4)).astype(dtype)
            for array in (plain, np.asfortranarray(plain), plain[0, 0, 0], plain[:, :0]):
                np.save(self.path("a.npy"), array)
                self.assert_same(self.converted("a.npy", "b.npy"), array)

    def test_our_files_are_numpys_bytes(self):
        np.save(self.path("a.npy"), self.rng.standard_normal((3, 5)).astype("f4"))
        self.converted("a.npy", "b.npy")
        with open(self.path("a.npy"), "rb") as a, open(self.path("b.npy"), "rb") as b:
            self.assertEqual(a.read(), b.read())

    def test_archives_plain_and_compressed(self):
        arrays = {"x": self.rng.standard_normal((8, 9)), "odd name": np.arange(5, dtype="u2"),
                  "zeros": np.zeros((100, 100), "f4")}
        for save in (np.savez, np.savez_compressed):
            save(self.path("a.npz"), **arrays)
            with self.converted("a.npz", "b.npz") as again:
                self.assertEqual(again.files, list(arrays))
                for name, array in arrays.items():
                    self.assert_same(again[name], array)

    def test_what_numpy_writes_but_plans_lack_is_refused(self):
        for array in (np.array([1 + 2j]), np.array(["text"]), np.zeros(3, ">f4"),
                      np.zeros(2, [("a", "f4")]), np.array([None])):
            np.save(self.path("a.npy"), array)
            done = self.convert("a.npy", "b.npy")
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1)
            self.assertIn("a.npy", done.stderr)

    def test_pictures_of_every_mode_have_the_stored_values(self):
        gray = self.rng.integers(0, 256, (7, 5), dtype="u1")
        rgb = self.rng.integers(0, 256, (7, 5, 3), dtype="u1")
        rgba = self.rng.integers(0, 256, (7, 5, 4), dtype="u1")
        palette = Image.fromarray(rgb).quantize(7)
        cases = [(Image.fromarray(gray), gray[..., None]), (Image.fromarray(rgb), rgb),
                 (Image.fromarray(rgba), rgba), (palette, np.asarray(palette.convert("RGB"))),
                 (Image.fromarray(gray > 127), (gray > 127)[..., None].astype("u1") * 255)]
        for image, expected in cases:
            image.save(self.path("a.png"))
            self.assert_same(self.converted("a.png", "b.npy"), expected)

    def test_sixteen_bits_are_rounded_to_eight(self):
        deep = np.array([[0, 65535, 128, 129, 257 * 100]], dtype="u2")
        Image.fromarray(deep).save(self.path("a.png"))
        expected = np.rint(deep / 257).astype("u1")[..., None]
        self.assert_same(self.converted("a.png", "b.npy"), expected)

    def test_our_pictures_open_elsewhere(self):
        rgb = self.rng.integers(0, 256, (7, 5, 3), dtype="u1")
        np.save(self.path("a.npy"), rgb)
        done = self.convert("a.npy", "b.png")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assert_same(np.asarray(Image.open(self.path("b.png"))), rgb)

    def test_a_damaged_file_is_told_from_a_missing_one(self):
        with open(self.path("a.npz"), "wb") as f:
            f.write(b"PK\x03\x04 and then nothing")
        done = self.convert("a.npz", "b.npz")
        self.assertEqual(done.returncode, 7, done.stderr)
        self.assertEqual(self.convert("none.npz", "b.npz").returncode, 2)


if __name__ == "__main__":
    unittest.main()
