# SPDX-License-Identifier: MIT
"""`python tools/oclgrind`: see command.py."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from oclgrind.command import main  # noqa: E402

sys.exit(main(sys.argv[1:]))
