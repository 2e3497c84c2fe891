# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""partition_state on synthetic tables: the marker says what is true, or is not set."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from kazoo.client import KazooClient

from support.ansible.calls import Call
from support.ansible.modules import ASSUMED, Pair, partitions_of
from support.memory.tables import Table, TableOptions, build_table, days, read_tree, register
from support.servers.zookeeper import Ensemble

FIRST, SECOND, _THIRD = days(3)


def state_task(pair: Pair, table: Table, state: str, *, check: bool = False, **args: Any) -> Call:
    given = {"shard_path": table.path, "partition": FIRST, "state": state, "assume_active": True}
    return pair.task("partition_state", check=check, **given | args)


def take_out_of_hot(pair: Pair, table: Table, *partitions: str) -> None:
    """Leave the partitions registered in cold only, without touching State."""
    for replica in table.options.replicas:
        register(pair.cold, table, replica, partitions)
        for partition in partitions:
            for name in table.part_names(partition):
                pair.hot.delete(f"{table.parts_path(replica)}/{name}")


class Change(NamedTuple):
    """What State of a partition is, and what it is to be."""

    before: bytes | None
    wanted: str


CHANGES = [
    *(Change(before, "COLD") for before in (None, b"HOT", b"COLD\n", b"")),
    *(Change(before, "HOT") for before in (None, b"COLD", b"COLD\n", b"MOVING")),
]


def test_state_is_set_where_it_says_what_is_true(pair: Pair) -> None:
    """In check mode, for real, and again."""
    changes = dict(zip(days(len(CHANGES)), CHANGES, strict=True))
    moved = "20180101"
    table = build_table(pair.hot, f"{pair.base}/hits", TableOptions(partitions=(moved, *changes)))
    # So that cold says to which table it belongs.
    pair.call("part_move", partitions=partitions_of(table, moved), **ASSUMED)
    take_out_of_hot(pair, table, *(each for each, change in changes.items() if change.wanted == "COLD"))
    for each, change in changes.items():
        if change.before is not None:
            pair.hot.create(table.state_path(each), change.before)

    def set_all(*, check: bool, word: Callable[[str], str] = str) -> list[dict[str, Any]]:
        return pair.call_all(
            *(
                state_task(pair, table, word(change.wanted), check=check, partition=each)
                for each, change in changes.items()
            )
        )

    trees = pair.trees()
    checked = set_all(check=True)
    assert pair.trees() == trees

    changed = set_all(check=False)
    assert checked == changed
    for (each, change), result in zip(changes.items(), changed, strict=True):
        text = "" if change.before is None else change.before.decode()
        assert (result["changed"], result["state_before"], result["state"]) == (True, text, change.wanted)
        assert result["diff"] == {
            "before": f"{table.path} {each}: State {text or 'absent'}\n",
            "after": f"{table.path} {each}: State {change.wanted}\n",
        }
        data, stat = pair.hot.get(table.state_path(each))
        assert (data, stat.version) == (change.wanted.encode(), 0 if change.before is None else 1)

    trees = pair.trees()
    for again in (set_all(check=False), set_all(check=True, word=str.lower)):
        assert [(result["changed"], result["state"]) for result in again] == [
            (False, change.wanted) for change in CHANGES
        ]
    assert pair.trees() == trees


def test_refusals(pair: Pair, table: Table) -> None:
    register(pair.cold, table, "r1", [SECOND])
    pair.hot.delete(f"{table.parts_path('r1')}/{table.part_names(SECOND)[0]}")
    pair.hot.create(f"{table.path}/block_numbers/empty", b"")
    refused(
        pair,
        (
            state_task(pair, table, "COLD"),
            (
                rf"State of partition {FIRST} of {table.path} cannot be COLD: some of its parts are"
                rf" registered in hot \(r1: {FIRST}_0_0_0, r2: {FIRST}_0_0_0\)\."
                r" Move the partition with part_move and state: cold, .*"
            ),
        ),
        (
            state_task(pair, table, "COLD", partition="empty"),
            r".* cannot be COLD: none of its parts is registered in cold\. Check that cold .*",
        ),
        (
            state_task(pair, table, "HOT", partition=SECOND),
            rf".* cannot be HOT: some of its parts are registered in cold only \(r1: {SECOND}_0_0_0\)\. .*",
        ),
        (
            state_task(pair, table, "HOT", partition="20190199"),
            rf"The table at {table.path} has no partition 20190199\. Give the id as in system\.parts.*",
        ),
        (
            state_task(pair, table, "HOT", shard_path=f"{pair.base}/none"),
            rf"There is no replicated table at {pair.base}/none in the hot ensemble\. .*",
        ),
        (state_task(pair, table, "HOT", shard_path="hits"), r"The shard path 'hits' does not begin .*"),
        (
            state_task(pair, table, "HOT", cold=pair.options["hot"]),
            r"Hot and cold are one ensemble: both were given the address .*",
        ),
    )


def test_replicas_that_differ_in_cold_are_refused(pair: Pair, table: Table) -> None:
    take_out_of_hot(pair, table, FIRST)
    pair.cold.delete(f"{table.parts_path('r2')}/{table.part_names(FIRST)[0]}")
    sentence = (
        r".* cannot be COLD: the replicas have different parts in cold\."
        r" Run part_audit_info, then part_repair with the kind of its finding\."
    )
    refused(pair, (state_task(pair, table, "COLD"), sentence))


def test_another_ensemble_given_as_cold_does_not_make_a_cold_partition_hot(
    pair: Pair, table: Table, cold: Ensemble, connect: Callable[[str], KazooClient]
) -> None:
    pair.call("part_move", partitions=partitions_of(table, FIRST), **ASSUMED)
    chroot = f"{pair.base}-other"
    connect(cold.connect_string).create(chroot)
    wrong = pair.options["cold"] | {"chroot": chroot}
    sentence = (
        rf"Partitions of {table.path} went to the cold ensemble .*; the one given does not have it,"
        rf" and State of {FIRST} is COLD\. Give the ensemble of <cold_zookeeper> in the servers'"
        r" configuration; .*"
    )
    refused(pair, (state_task(pair, table, "HOT", cold=wrong), sentence))


def refused(pair: Pair, *cases: tuple[Call, str]) -> None:
    """Make the calls; each fails with its sentence (a pattern), and nothing is written."""
    before = pair.trees()
    results = pair.call_all(*(call for call, _sentence in cases))
    for (_call, sentence), result in zip(cases, results, strict=True):
        assert result["failed"], result
        assert re.fullmatch(sentence, result["msg"]), result["msg"]
    assert pair.trees() == before


def test_locked_shard_path_is_left_alone(pair: Pair, table: Table) -> None:
    lock = f"{pair.options['coordination_root']}/locks/{table.path.replace('/', '%2F')}"
    pair.hot.create(lock, b"another run", ephemeral=True, makepath=True)
    before = read_tree(pair.hot, table.path)
    (result,) = pair.call_all(state_task(pair, table, "HOT", lock_wait="1"))
    assert result["failed"]
    assert result["msg"].startswith(f"{table.path} is locked by another run: another run. Wait until")
    assert read_tree(pair.hot, table.path) == before


def test_state_is_not_set_where_no_server_can_be_asked(pair: Pair, table: Table) -> None:
    sentence = (
        r".* cannot be HOT: no server was asked whether .* Run again with the option clickhouse,"
        r" .* or with assume_active\."
    )
    refused(pair, (state_task(pair, table, "HOT", assume_active=False), sentence))
