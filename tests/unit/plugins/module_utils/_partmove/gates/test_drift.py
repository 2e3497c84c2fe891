# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is said of a partition that is not where its State says, or nowhere."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.drift import (
    refuse_location,
    refuse_unregistered,
    refuse_untold,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.gate import Refusal
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.names import GateName
from ansible_collections.olap.partmove.plugins.module_utils._partmove.shard.facts import RegisteredNames
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import Stat, Znode

BRING_BACK = "Bring it back with part_move and the state hot, and give clickhouse"

REMOVE = (
    "Remove what no server has any more: part_move with the state hot, and clickhouse; where the servers do"
    " have it, set State to COLD with partition_state"
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
def test_a_drifted_one_is_told_with_its_state(state: bytes | None, text: str) -> None:
    refusal = refuse_location(whereabouts(state, "- -", "a -"))
    assert (refusal.gate, refusal.reason) == (
        GateName.NOT_DRIFTED,
        f"State is {text} while of its parts r1 has 0 in hot and 1 in cold, r2 has 0 in hot and 0 in cold",
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
            "Set State with partition_state to COLD if the servers have the parts, or else to HOT",
        ),
    ],
    ids=["uneven", "mixed", "dropped", "stray"],
)
def test_each_place_has_a_way_out(state: bytes, hot: str, cold: str, remedy: str) -> None:
    refusal = refuse_location(whereabouts(state, hot, cold))
    assert refusal.remedy == (
        f"{remedy}; part_audit_info tells what each replica has of it, and part_repair repairs what is left"
    )


def test_of_many_replicas_the_first_few_are_told() -> None:
    assert refuse_location(whereabouts(b"COLD", "ab - - - -", "- a ab a -")).reason == (
        "State is COLD while of its parts r1 has 2 in hot and 0 in cold, r2 has 0 in hot and 1 in cold,"
        " r3 has 0 in hot and 2 in cold and 2 more"
    )


@pytest.mark.parametrize("state", [None, b"HOT", b"COLD"])
def test_one_that_is_nowhere(state: bytes | None) -> None:
    assert refuse_location(whereabouts(state, "- -", "- -")) == Refusal(
        GateName.PARTITION_EXISTS,
        "no part of the partition is registered in either ensemble",
        "Check the partition id (system.parts.partition_id) and the shard path",
    )


def test_one_that_is_on_disk_only_is_told_with_its_parts() -> None:
    assert refuse_unregistered({"r2": ["b", "c"], "r1": ["a"]}) == Refusal(
        GateName.REGISTERED,
        "parts of it are active on disk and registered in neither ensemble: r1 has a, r2 has b, c",
        "Do not restart the server, which would set them aside: see that cold is the ensemble that the"
        " servers have as <cold_zookeeper>; part_audit_info then tells what is so, and part_repair"
        " registers them",
    )


def test_one_that_may_have_been_dropped_while_it_was_cold() -> None:
    refusal = refuse_untold()
    assert refusal.gate is GateName.REGISTERED
    assert "it was dropped while it was cold, or cold has lost it" in refusal.reason
    assert refusal.remedy.startswith("Give clickhouse")
    assert "set State to HOT with partition_state" in refusal.remedy
