# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The playbook reheat.yml: cold partitions are brought back, on real ensembles."""

from __future__ import annotations

import json
from typing import Any

from support.ansible.calls import PlaybookRun, run_playbook
from support.ansible.modules import ASSUMED, Pair, partitions_of
from support.ansible.role_runs import changed, summary
from support.memory.tables import Table, build_table, days

FIRST, SECOND, THIRD = days(3)


def run_reheat(pair: Pair, wanted: dict[str, Any], *options: str) -> PlaybookRun:
    """Run the playbook as a user does: ensembles from a file, and what is to come back."""
    extra = pair.folder / "vars.json"
    given = {**pair.options, "assume_active": True, "wait_for_copies": False}
    extra.write_text(json.dumps({f"part_move_{name}": value for name, value in given.items()}))
    playbook = pair.folder / "site.yml"
    playbook.write_text(json.dumps([{"ansible.builtin.import_playbook": "olap.partmove.reheat"}]))
    return run_playbook(playbook, "-e", f"@{extra}", "-e", json.dumps(wanted), *options)


def test_check_then_reheat_then_again(pair: Pair, table: Table) -> None:
    other = build_table(pair.hot, f"{pair.base}/visits")
    cold = [*partitions_of(table, FIRST, SECOND), *partitions_of(other, THIRD)]
    assert pair.call("part_move", partitions=cold, **ASSUMED)["counts"]["moved"] == 3
    both = {"part_move_shard_paths": [other.path, table.path]}
    before = pair.trees()

    checked = run_reheat(pair, both, "--check")
    assert changed(checked) == 1
    assert summary(checked)[0].startswith("Would be registered in hot again: 3 partitions, 6 parts")
    assert pair.trees() == before

    one = run_reheat(pair, {"part_move_partitions": partitions_of(table, FIRST)})
    assert changed(one) == 1
    assert summary(one)[0].startswith("Registered in hot again: 1 partition, 2 parts")
    assert [table.state(each) for each in (FIRST, SECOND)] == [b"HOT", b"COLD"]

    done = run_reheat(pair, both)
    assert changed(done) == 1
    assert summary(done)[0].startswith("Registered in hot again: 2 partitions, 4 parts")
    assert summary(done)[3].startswith("Copies still in cold: those of 3 partitions ")
    for each, partition in ((table, FIRST), (table, SECOND), (other, THIRD)):
        assert each.state(partition) == b"HOT"
        assert all(each.registered(pair.hot, partition).values())

    again = run_reheat(pair, both)
    assert changed(again) == 0
    assert summary(again)[0].startswith("Registered in hot again: 0 partitions")


def test_what_is_to_come_back_has_to_be_said(pair: Pair) -> None:
    run = run_reheat(pair, {})
    assert run.status != 0
    assert "Give exactly one of part_move_plan, part_move_partitions and part_move_shard_paths." in run.output
