# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Every task of a playbook or role gives its module the coordination root of the operator.

A module without it reads below ``/partmove``, and refuses each table that runs with another root have bound.
"""

from __future__ import annotations

from support.ansible.tasks import tasks_by_file
from support.source import ROOT

_PREFIX = "olap.partmove."


def test_every_module_gets_the_coordination_root() -> None:
    modules = {
        path.stem
        for path in (ROOT / "plugins" / "modules").glob("*.py")
        if '"coordination_root": argspec.' in path.read_text(encoding="utf-8")
    }
    assert {"part_move", "part_info", "twin_move"} <= modules
    calls = [
        (file.name, module, options)
        for file, task in tasks_by_file()
        for module, options in task.items()
        if module.startswith(_PREFIX) and module.removeprefix(_PREFIX) in modules
    ]
    assert len(calls) > 20
    # replica_info uses it for the ledger in hot alone.
    without = [
        (file, module) for file, module, given in calls if "coordination_root" not in given and "hot" in given
    ]
    assert without == []
