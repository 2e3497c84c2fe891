# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Mutants of what becomes of znodes that may not be read."""

from __future__ import annotations

from mutants.mutant import Mutant

_INVENTORY = "shard/inventory.py"
_WHOLE = "census/test_judge.py::test_an_incomplete_table_gets_only_certain_advice"

MUTANTS = (
    Mutant(
        "what may not be read is passed by in silence",
        "tree/skip_denied.py",
        "self._denied(paths[0], error)",
        "pass",
        ("shard/test_inventory.py::test_unreadable_znodes_are_reported_and_skipped",),
    ),
    Mutant(
        "a part that may not be read counts as none",
        _INVENTORY,
        "rows += [self._unread(replica, ensemble, name) for name in unread]",
        "pass",
        ("shard/test_inventory.py::test_unreadable_parts_are_rows_without_a_state[2000]",),
    ),
    Mutant(
        "a State that may not be read counts as none",
        _INVENTORY,
        "None if is_denied else state_text(znode)",
        "state_text(znode)",
        ("shard/test_inventory.py::test_rows_of_a_partition_with_an_unreadable_state_have_no_state",),
    ),
    Mutant(
        "partitions count as gone where parts may not be read",
        "census/judge.py",
        "        if not self._table.is_whole:\n            return\n",
        "",
        (f"{_WHOLE}[partitions_gone]",),
    ),
    Mutant(
        "no session is taken to be among what may not be read",
        "census/servers.py",
        "    if partial:\n",
        "    if False:\n",
        ("census/test_servers.py::test_unreadable_znodes_may_hide_a_session",),
    ),
)
