# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The refusals of partitions that are unregistered, or not where their State says."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.gate import Refusal
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.location import (
    refuse_dropped_or_lost,
    refuse_location,
    refuse_unregistered,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.names import GateName
from ansible_collections.olap.partmove.plugins.module_utils._partmove.shard.facts import RegisteredNames
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import Stat, Znode

BRING_BACK = "Bring the partition back: part_move with state: hot and the option clickhouse"

REMOVE = (
    "If no server has the parts any more, remove their part znodes from cold: part_move with state: hot"
    " and the option clickhouse. If the servers have the parts, set State to COLD with partition_state"
)


def whereabouts(state: bytes | None, hot: str, cold: str) -> RegisteredNames:
    """A partition of one replica a word, with as many parts as the word has letters."""
    znode = None if state is None else Znode("/State", state, Stat(*[0] * 11))
    found = (
        {f"r{number}": list(word.strip("-")) for number, word in enumerate(words.split(), start=1)}
        for words in (hot, cold)
    )
    return RegisteredNames(znode, *found)


@pytest.mark.parametrize(
    ("state", "text"),
    [
        (None, "absent"),
        (b"", ""),
        (b"HOT", "HOT"),
        (b"COLD", "COLD"),
        (b"COLD\n", "COLD\n"),
        (b"\xff", "\\xff"),
    ],
)
def test_an_inconsistent_partition_is_reported_with_its_state(state: bytes | None, text: str) -> None:
    refusal = refuse_location(whereabouts(state, "- -", "a -"))
    assert (refusal.gate, refusal.reason) == (
        GateName.NOT_DRIFTED,
        f"State is {text}, but r1 has 0 parts in hot and 1 in cold, r2 has 0 parts in hot and 0 in cold",
    )


@pytest.mark.parametrize(
    ("state", "hot", "cold", "remedy"),
    [
        (b"COLD", "- -", "a -", BRING_BACK),
        (b"COLD", "a -", "a a", BRING_BACK),
        (
            b"HOT",
            "- -",
            "a a",
            REMOVE,
        ),
        (
            b"COLD\n",
            "- -",
            "a a",
            "Set State with partition_state: to COLD if the servers have the parts, otherwise to HOT",
        ),
    ],
    ids=["uneven", "mixed", "dropped", "stray"],
)
def test_each_location_has_a_remedy(state: bytes, hot: str, cold: str, remedy: str) -> None:
    refusal = refuse_location(whereabouts(state, hot, cold))
    assert refusal.remedy == (
        f"{remedy}. part_audit_info lists what each replica has, and part_repair repairs the rest"
    )


def test_the_reason_names_the_first_few_of_many_replicas() -> None:
    assert refuse_location(whereabouts(b"COLD", "ab - - - -", "- a ab a -")).reason == (
        "State is COLD, but r1 has 2 parts in hot and 0 in cold, r2 has 0 parts in hot and 1 in cold,"
        " r3 has 0 parts in hot and 2 in cold and 2 more"
    )


@pytest.mark.parametrize("state", [None, b"HOT", b"COLD"])
def test_an_unregistered_partition(state: bytes | None) -> None:
    assert refuse_location(whereabouts(state, "- -", "- -")) == Refusal(
        GateName.PARTITION_EXISTS,
        "no part of the partition is registered in either ensemble",
        "Check the partition id (system.parts.partition_id) and the shard path",
    )


def test_a_partition_on_disk_only_is_reported_with_its_parts() -> None:
    assert refuse_unregistered({"r2": ["b", "c"], "r1": ["a"]}) == Refusal(
        GateName.REGISTERED,
        "parts of the partition are active on disk and registered in neither ensemble: r1 has a, r2 has b, c",
        "Do not restart the server: a restart moves the parts to detached/. Check that cold is the"
        " ensemble that the servers have as <cold_zookeeper>. Then run part_audit_info, and register the"
        " parts with part_repair",
    )


def test_a_partition_that_was_dropped_or_lost_while_it_was_cold() -> None:
    refusal = refuse_dropped_or_lost()
    assert refusal.gate is GateName.REGISTERED
    assert "the partition was dropped while it was cold, or cold has lost its part znodes" in refusal.reason
    assert refusal.remedy.startswith("Run again with the option clickhouse")
    assert "set State to HOT with partition_state" in refusal.remedy
