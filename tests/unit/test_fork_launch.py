# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A program of the ladder that could not be called is an error, and no program that failed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from support.servers.ladder import fork_launch

# A function that takes the number of arguments, as every main does, and returns it.
LIBRARY, FUNCTION = "libc.so.6", "abs"


def answers(*calls: dict[str, Any]) -> list[dict[str, Any]]:
    """Call the function in place of a program."""
    done = subprocess.run(
        [sys.executable, "-S", fork_launch.__file__, LIBRARY, FUNCTION, "program"],
        input="".join(f"{json.dumps(each)}\n" for each in calls),
        capture_output=True,
        text=True,
        check=True,
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_a_folder_that_is_not_there_is_an_error_of_its_own(tmp_path: Path) -> None:
    call = {"arguments": ["a", "b"], "environment": {}, "cwd": str(tmp_path)}
    called, failed, again = answers(call, {**call, "cwd": str(tmp_path / "none")}, call)
    assert called == again == {"status": 3, "written": ""}
    assert failed["status"] == fork_launch.NOT_CALLED
    assert f"No such file or directory: '{tmp_path}/none'" in failed["written"]
