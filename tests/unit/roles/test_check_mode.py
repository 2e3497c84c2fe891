# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""No task undoes the check mode that whoever includes it has applied.

``ansible_check_mode`` is what the command line says. In a plan, which applies check mode to the tasks of a
role, it is false: a task that computes its check mode from it would write.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from ansible.parsing.yaml.loader import AnsibleLoader

ROOT = Path(__file__).resolve().parents[3]
_ALLOWED = {"Install what the module needs"}
"""Tasks that a plan carries out, because it needs what they do."""


def tasks_of(found: Any) -> Iterator[dict[str, Any]]:
    """Yield each task of a file, also those in blocks."""
    if isinstance(found, dict):
        yield found
        for value in found.values():
            yield from tasks_of(value)
    elif isinstance(found, list):
        for each in found:
            yield from tasks_of(each)


def test_no_task_computes_its_check_mode() -> None:
    files = [path for room in ("roles", "playbooks") for path in (ROOT / room).rglob("*.yml")]
    computed = {
        str(task.get("name"))
        for file in files
        for task in tasks_of(yaml.load(file.read_text(encoding="utf-8"), AnsibleLoader))
        if isinstance(task.get("check_mode"), str)
    }
    assert len(files) > 100
    assert computed == _ALLOWED
