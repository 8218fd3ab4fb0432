# SPDX-License-Identifier: MIT
"""The services table as the build reads it: mistakes in it are told, each in a sentence."""

import os
import sys
import tomllib
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
sys.path.insert(0, os.path.join(ROOT, "tools"))

from buildsys import services  # noqa: E402

ROW = '[%s]\nschema = "health"\nrate_hz = %s\nlog_decimation = 1\nqueue_bytes = 65536\n'


class ServicesTable(unittest.TestCase):

    def test_the_table_of_the_tree(self):
        with open(os.path.join(ROOT, "msgq/schema/services.toml"), encoding="utf-8") as f:
            text = f.read()
        rows = services.read_table(text)
        self.assertEqual(rows, tomllib.loads(text))
        for name in rows:
            self.assertIn('{"%s", ' % name, services.cpp(rows))

    def test_rows_become_cpp(self):
        made = services.cpp(services.read_table(ROW % ("health", "2.5")))
        self.assertIn('{"health", "health", 2.5, 1u, 65536u},', made)

    def test_mistakes_are_told(self):
        for text, what in ((ROW % ("health", '"fast"'), "rate_hz is of the wrong type"),
                           (ROW % ("Health-1", "2"), "a service is a section with a name"),
                           (ROW % ("health", "-1"), "below zero"),
                           (ROW % ("health", "2") + "colour = 1\n", "has exactly"),
                           ("health = 3\n", "a service is a section"),
                           (ROW % ("health", "2") * 2, "health")):
            with self.subTest(what=what), self.assertRaisesRegex(ValueError, what):
                services.read_table(text)


if __name__ == "__main__":
    unittest.main()
