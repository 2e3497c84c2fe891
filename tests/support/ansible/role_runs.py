# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs of the role part_move, and what they tell."""

from __future__ import annotations

import json
import re
from typing import Any

from support.ansible.calls import PlaybookRun, run_playbook, write_playbook
from support.ansible.modules import ASSUMED, Pair


def run_role(pair: Pair, *options: str, **variables: Any) -> PlaybookRun:
    """Run the role with both ensembles; a variable that is None keeps its default."""
    given = {**pair.options, **ASSUMED, **variables}
    role = {"ansible.builtin.import_role": {"name": "olap.partmove.part_move"}}
    extra = {f"part_move_{name}": value for name, value in given.items()}
    return run_playbook(write_playbook(pair.folder, [role]), "-e", json.dumps(extra), *options)


def summary(run: PlaybookRun) -> list[str]:
    """Return the lines that the role shows."""
    found = re.search(r'"msg": (\[\n.*?\n    \])', run.output, re.DOTALL)
    assert found, run.told
    lines: list[str] = json.loads(found[1])
    return lines


def changed(run: PlaybookRun) -> int:
    """Return how many tasks changed something, of a run that ended well."""
    assert run.status == 0, run.told
    found = re.search(r"changed=(\d+)", run.output)
    assert found, run.told
    return int(found[1])
