# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Writes the members of the hot ensemble that a modern server has by its configuration, as a setting says.

Usage: python keeper_hosts.py CONFIG FOLDER, where FOLDER is for the data of the server. No member is asked.
"""

from __future__ import annotations

import os
import sys
from types import ModuleType
from typing import Any

MARK = "keeper_hosts="
"""The line with the members, separated by commas, begins with this mark."""


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
    sys.stdout.write(f"{MARK}{str(value).strip()}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    try:
        main()
    except RuntimeError as error:
        sys.stdout.write(f"{error}\n")
        sys.stdout.flush()
    # Not by returning: the engine does not survive that the interpreter takes itself down around it.
    os._exit(0)
