# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The folder that the hosts of one scenario live in, and the files that tell about them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

WARM = "/usr/lib/warm-python"
"""Folder of a host with the interpreter for Ansible, ``python3``."""


@dataclass(frozen=True)
class Spec:
    """What the process that holds the hosts has to know."""

    base: str
    """Folder of the base tree."""
    bridge: str
    gateway: str
    """Address of this machine on the bridge."""
    prefix_length: int
    hosts: Mapping[str, str]
    """Address by name."""
    cgroups: list[str]
    """Folders of control groups below which each host has its own."""
    control_path: str
    """Folder for the sockets of ssh, whose names must be short; a new one each time, because an old
    socket may lead to a host that has ended."""
    other_bases: Mapping[str, str] = field(default_factory=dict)
    """Of the hosts that have another base: its folder."""


class Layout:
    """Names of the files in the folder of a run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        self.bridge = "pm" + hashlib.sha256(str(self.folder).encode()).hexdigest()[:10]
        """Name of the bridge and of the control groups: no other folder has the same."""
        self.lock = self.folder.with_name(f"{self.folder.name}.lock")
        """Locked as long as the hosts live."""
        self.key = self.folder / "id"
        self.host_key = self.folder / "host_key"
        self.known_hosts = self.folder / "known_hosts"
        self.repository = self.folder / "repository"
        self.log = self.folder / "keeper.log"
        self.pid = self.folder / "keeper.pid"
        self.ready = self.folder / "ready"
        self.inventory = self.folder / "inventory.yml"
        self._spec = self.folder / "spec.json"

    def host(self, name: str) -> Path:
        """Return the folder of a host: its upper layer, and the log of its console."""
        return self.folder / "hosts" / name

    def console(self, name: str) -> Path:
        """Return what a host writes while it boots."""
        return self.host(name) / "console.log"

    def write(self, spec: Spec) -> None:
        """Keep the spec."""
        self._spec.write_text(json.dumps(asdict(spec)))

    def read(self) -> Spec | None:
        """Return the spec, or None when there is none."""
        return Spec(**json.loads(self._spec.read_text())) if self._spec.exists() else None
