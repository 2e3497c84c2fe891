# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The tasks of the playbooks and roles of this collection, as they are written."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from ansible.parsing.yaml.loader import AnsibleLoader

from support.source import ROOT


def tasks_by_file() -> Iterator[tuple[Path, dict[str, Any]]]:
    """Yield each file with each of its tasks, also those in blocks; plays and blocks count as tasks."""
    for room in ("roles", "playbooks"):
        for file in sorted((ROOT / room).rglob("*.yml")):
            for task in _tasks_of(yaml.load(file.read_text(encoding="utf-8"), AnsibleLoader)):
                yield file, task


def _tasks_of(found: Any) -> Iterator[dict[str, Any]]:
    if isinstance(found, dict):
        yield found
        for value in found.values():
            yield from _tasks_of(value)
    elif isinstance(found, list):
        for each in found:
            yield from _tasks_of(each)
