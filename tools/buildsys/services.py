# SPDX-License-Identifier: MIT
"""Makes C++ of msgq/schema/services.toml: python3 services.py TABLE OUT.cc"""

import re
import sys
import tomllib

FIELDS = {"schema": str, "rate_hz": (int, float), "log_decimation": int, "queue_bytes": int}
_NAME = re.compile(r"[a-z][A-Za-z0-9]*")


def read_table(text):
    """The rows as {name: {field: value}}, checked; ValueError says what is wrong."""
    rows = tomllib.loads(text)
    for name, row in rows.items():
        if not isinstance(row, dict) or not _NAME.fullmatch(name):
            raise ValueError("%s: a service is a section with a name like roadCameraState" % name)
        if set(row) != set(FIELDS):
            raise ValueError("%s: a service has exactly %s" % (name, ", ".join(FIELDS)))
        for field, kind in FIELDS.items():
            if not isinstance(row[field], kind) or isinstance(row[field], bool):
                raise ValueError("%s: %s is of the wrong type" % (name, field))
        if not _NAME.fullmatch(row["schema"]) or min(
                row["rate_hz"], row["log_decimation"], row["queue_bytes"]) < 0:
            raise ValueError("%s: no schema of that name, or a number below zero" % name)
    return rows


def cpp(rows):
    """The table as a C++ source."""
    lines = ['    {"%s", "%s", %r, %du, %du},' % (
        name, row["schema"], float(row["rate_hz"]), row["log_decimation"], row["queue_bytes"])
        for name, row in rows.items()]
    return "\n".join(['#include "msgq/schema/services.h"', "", "namespace camshaft::schema {", "",
                      "std::span<const Service> services() {",
                      "  static constexpr Service kServices[] = {", *lines, "  };",
                      "  return kServices;", "}", "", "}  // namespace camshaft::schema", ""])


def main(table, out):
    with open(table, encoding="utf-8") as f:
        text = f.read()
    try:
        made = cpp(read_table(text))
    except ValueError as error:  # tomllib's error is one too
        return "%s: %s" % (table, error)
    with open(out, "w", encoding="utf-8") as f:
        f.write(made)
    return None


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
