# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Calls a program of the multi-tool ClickHouse many times, and loads the library that holds it once.

Usage: python -S fork_launch.py LIBRARY ENTRY-POINT NAME-OF-PROGRAM

Each line of standard input is a call, in JSON: arguments, environment, cwd. The answer is a line of standard
output, in JSON: the exit status, and what the program wrote; or, of a program that was not called, the error.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
import tempfile
import traceback
from typing import Any

NOT_CALLED = 127
"""The exit status of a process in which the program was not called; it has written why."""


def main() -> None:
    """Answer every call."""
    library, entry_point, name = sys.argv[1:]
    called = ctypes.CDLL(library)[entry_point]
    for line in sys.stdin:
        given = json.loads(line)
        with tempfile.TemporaryFile() as written:
            child = os.fork()
            if child == 0:
                _call(called, [name, *given["arguments"]], given, written.fileno())
            _pid, status = os.waitpid(child, 0)
            written.seek(0)
            text = written.read().decode(errors="replace")
        sys.stdout.write(json.dumps({"status": os.waitstatus_to_exitcode(status), "written": text}) + "\n")
        sys.stdout.flush()


def _call(called: Any, arguments: list[str], given: dict[str, Any], output: int) -> None:
    status = NOT_CALLED
    try:
        for stream in (1, 2):
            os.dup2(output, stream)
        os.chdir(given["cwd"])
        os.environ.update(given["environment"])
        argv = (ctypes.c_char_p * (len(arguments) + 1))(*map(os.fsencode, arguments), None)
        status = int(called(len(arguments), argv))
        ctypes.CDLL(None).fflush(None)
    except BaseException:  # noqa: BLE001 - this process must not go on as its parent does
        os.write(output, traceback.format_exc().encode())
    finally:
        os._exit(status & 0xFF)


if __name__ == "__main__":
    main()
