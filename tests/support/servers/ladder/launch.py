# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Calls one program of the multi-tool ClickHouse that a library holds.

Usage: python -S launch.py LIBRARY ENTRY-POINT NAME-OF-PROGRAM ARGUMENT …
"""

from __future__ import annotations

import ctypes
import os
import sys


def main() -> int:
    """Call the entry point, which is a function main of C, and return its exit status."""
    library, entry_point, *arguments = sys.argv[1:]
    called = ctypes.CDLL(library)[entry_point]
    argv = (ctypes.c_char_p * (len(arguments) + 1))(*map(os.fsencode, arguments), None)
    return int(called(len(arguments), argv))


if __name__ == "__main__":
    # Not by returning: the library does not survive that the interpreter takes itself down around it.
    os._exit(main() & 0xFF)
