# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs ansible-inventory with the inventory plugins of the collection."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

from support.ansible.calls import COLLECTIONS, PROGRAMS

_SECONDS = 600.0


class InventoryRun(NamedTuple):
    """What ansible-inventory gave; an empty inventory where it failed."""

    status: int
    inventory: dict[str, Any]
    output: str
    """All it wrote."""

    def hosts(self, group: str) -> list[str]:
        """Hosts that are directly in a group, in order."""
        return list(self.inventory[group].get("hosts", ()))

    def variables(self, host: str) -> dict[str, Any]:
        """Variables of a host."""
        return dict(self.inventory["_meta"]["hostvars"][host])


def run_inventory(
    folder: Path, source: dict[str, Any] | str, *options: str, **environment: str
) -> InventoryRun:
    """List the inventory of a source, given as a mapping or as text; the cache is kept in the folder."""
    path = folder / "clickhouse_shards.yml"
    path.write_text(source if isinstance(source, str) else json.dumps(source))
    home = folder / "ansible-home"
    done = subprocess.run(
        [str(PROGRAMS / "ansible-inventory"), "-i", str(path), "--list", "-vvvv", *options],
        env={
            **os.environ,
            "ANSIBLE_COLLECTIONS_PATH": str(COLLECTIONS),
            "ANSIBLE_HOME": str(home),
            "ANSIBLE_LOCAL_TEMP": str(home / "tmp"),
            "ANSIBLE_NOCOLOR": "1",
            "ANSIBLE_INVENTORY_ANY_UNPARSED_IS_FAILED": "1",
            "LC_ALL": "C.UTF-8",
            **environment,
        },
        capture_output=True,
        text=True,
        timeout=_SECONDS,
        check=False,
    )
    found = done.stdout[done.stdout.find("\n{") :] if done.returncode == 0 else ""
    inventory = json.loads(found, object_hook=_plain) if found else {}
    return InventoryRun(done.returncode, inventory, done.stdout + done.stderr)


def _plain(value: dict[str, Any]) -> Any:
    """Text that is not from a person is marked; here it counts as text."""
    return value["__ansible_unsafe"] if value.keys() == {"__ansible_unsafe"} else value
