# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Writes the members of the hot ensemble that a modern server has by its configuration, as a setting says.

Usage: python keeper_hosts.py CONFIG FOLDER, where FOLDER is for the data of the server. No member is asked.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

_MARK = "keeper_hosts="
_SECONDS = 120


class EngineReading(NamedTuple):
    """What a modern server makes of a configuration.

    starts: whether it starts; it says nothing of use otherwise.
    hosts: of the hot ensemble.
    """

    starts: bool
    hosts: tuple[str, ...] = ()


def read_by_engine(main: Path, environment: Mapping[str, str]) -> EngineReading:
    """Start the engine with the file, in a process of its own."""
    done = subprocess.run(
        [sys.executable, __file__, str(main), str(main.parent / "data")],
        cwd=main.parent,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        timeout=_SECONDS,
        check=False,
    )
    found = re.search(f"^{_MARK}(.*)$", done.stdout, re.MULTILINE)
    if found is None:
        return EngineReading(starts=False)
    addresses = [each.removeprefix("secure://") for each in found[1].split(",") if each]
    return EngineReading(True, tuple(each.rpartition(":")[0] for each in addresses))


def main() -> None:
    """Open the engine and write the setting."""
    # What results of other formats need takes a third of the time of a start.
    sys.modules["pyarrow"] = ModuleType("pyarrow")
    # Only in this process.
    from chdb.session import Session  # noqa: PLC0415

    config, folder = sys.argv[1:]
    # The package has no types.
    open_session: Any = Session
    session = open_session(f"{folder}?config-file={config}")
    value = session.query("SELECT value FROM system.server_settings WHERE name = 'keeper_hosts'", "TSVRaw")
    sys.stdout.write(f"{_MARK}{str(value).strip()}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    try:
        main()
    except RuntimeError as error:
        sys.stdout.write(f"{error}\n")
        sys.stdout.flush()
    # Not by returning: the engine does not survive that the interpreter takes itself down around it.
    os._exit(0)
