# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A settled partition has the verdict of the rules, and what is unusual is left to the rules."""

from __future__ import annotations

from itertools import product

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.binding.owner import Owner
from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.layout import ShardLayout
from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.names import PartName
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.content import (
    ReplicaContent,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.evidence import DiskParts
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.judge import (
    Verdict,
    judge,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.kind import FindingKind
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.names import (
    EnsembleNames,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.partitions import (
    Partitions,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.replicas import (
    NO_PARTITION,
    ListedNames,
    ReplicaAnswer,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.settled import (
    SettledPartitions,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import Stat, Znode
from support.memory.evidence import AB, DAY, A, B, parts

Place = tuple[str, str, "str | None"]
"""Names in hot, in cold and on disk, separated by blanks; None for a silent server."""

STATES = (None, "HOT", "COLD")
COLD, HOT = ("", A, A), (A, "", A)


def partitions(
    *replicas: Place,
    state: str | None = None,
    owner: Owner = Owner.OURS,
    cold_is_known: bool = True,
    elsewhere: str = "",
    contents: dict[str, ReplicaContent] | None = None,
    unreadable: bool = False,
) -> Partitions:
    """One partition of replicas r1, r2, … ; ``elsewhere``: parts of a replica that only cold has."""
    stat = Stat(1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1)
    znode = None if state is None else Znode("/t/State", state.encode(), stat)
    hot: dict[str, dict[str, tuple[PartName, ...]]] = {}
    cold: dict[str, dict[str, tuple[PartName, ...]]] = {}
    answers: dict[str, ReplicaAnswer] = {}
    for number, (in_hot, in_cold, on_disk) in enumerate(replicas, 1):
        name = f"r{number}"
        hot[name], cold[name] = ({DAY: parts(texts)} if texts else {} for texts in (in_hot, in_cold))
        active = parts(on_disk or "")
        disk = None if on_disk is None else DiskParts({each.text: None for each in active}, frozenset())
        silence = "silent" if on_disk is None else ""
        answers[name] = ReplicaAnswer(True, disk, {DAY: active} if active else {}, silence)
    if elsewhere:
        cold["r9"] = {DAY: parts(elsewhere)}
    names = ListedNames(
        ShardLayout("/t"),
        answers,
        EnsembleNames(hot, {"r1": ("/t/replicas/r1/parts/?",)} if unreadable else {}),
        EnsembleNames(cold, {}),
        {DAY: znode},
    )
    return Partitions(names, owner, cold_is_known, 0.0, contents or {})


def settled(found: Partitions) -> Verdict | None:
    return SettledPartitions(found).verdict(DAY)


def test_the_rules_say_the_same() -> None:
    """Of any combination of two replicas: what is settled has this verdict by the rules, on each one."""
    places = ("", A, f"{A} {B}", AB)
    each_place = [*product(places, places, (*places, None))]
    known = product(Owner, (True, False))
    number = 0
    for (owner, cold_is_known), state in product(known, STATES):
        for first, second in product([*each_place[::7], COLD, HOT], each_place):
            found = partitions(first, second, state=state, owner=owner, cold_is_known=cold_is_known)
            verdict = settled(found)
            if verdict is not None:
                number += 1
                assert judge(found[DAY]) == {"r1": verdict, "r2": verdict}
                assert verdict.kind.is_consistent
    assert number


@pytest.mark.parametrize(
    ("found", "kind"),
    [
        (partitions(HOT, HOT), FindingKind.HOT),
        (partitions(HOT, HOT, state="HOT"), FindingKind.HOT),
        (partitions((f"{A} {B}", "", f"{A} {B}"), state="HOT"), FindingKind.HOT),
        (partitions(COLD, COLD, state="COLD"), FindingKind.COLD),
        (partitions(("", "", ""), ("", "", ""), state="HOT"), FindingKind.EMPTY),
        (partitions(HOT, owner=Owner.OTHER_CLUSTER), FindingKind.HOT),
    ],
)
def test_what_is_settled(found: Partitions, kind: FindingKind) -> None:
    verdict = settled(found)
    assert verdict is not None
    assert verdict.kind is kind
    assert verdict == judge(found[DAY])["r1"]


@pytest.mark.parametrize(
    "found",
    [
        partitions(HOT, HOT, state="COLD"),
        partitions(COLD, COLD),
        partitions(COLD, COLD, state="COLD\n"),
        partitions(HOT, COLD, state="COLD"),
        partitions(HOT, ("", "", "")),
        partitions((A, A, A), state="COLD"),
        partitions((A, "", "")),
        partitions(("", "", A)),
        partitions((A, "", AB)),
        partitions((A, "", None)),
        partitions(HOT, (A, "", None)),
        partitions(("", f"{A} {B}", f"{A} {B}"), state="COLD"),
        partitions(("", "", ""), state="COLD"),
        partitions(COLD, state="COLD", owner=Owner.FORMER),
        partitions(COLD, state="COLD", owner=Owner.NOBODY),
        partitions(COLD, state="COLD", owner=Owner.OTHER_CLUSTER),
        partitions(COLD, state="COLD", cold_is_known=False),
        partitions(HOT, elsewhere=B),
        partitions(COLD, state="COLD", elsewhere=A),
        partitions(elsewhere=A),
        partitions(HOT, HOT, contents={"r1": ReplicaContent(), "r2": ReplicaContent(partitions={DAY})}),
    ],
)
def test_what_is_left_to_the_rules(found: Partitions) -> None:
    assert settled(found) is None


def test_content_without_a_problem_is_settled() -> None:
    contents = {"r1": ReplicaContent(cold_mtimes={DAY: 5}), "r9": ReplicaContent(partitions={"2018"})}
    assert settled(partitions(COLD, state="COLD", contents=contents)) == Verdict(FindingKind.COLD, (A,))


def test_znodes_with_an_invalid_name_are_left_to_the_rules() -> None:
    found = partitions(HOT, unreadable=True)
    assert list(found) == [NO_PARTITION, DAY]
    assert len(found) == 2
    assert NO_PARTITION in found
    assert SettledPartitions(found).verdict(NO_PARTITION) is None
    assert NO_PARTITION not in partitions(HOT)
    with pytest.raises(KeyError):
        partitions(HOT)[NO_PARTITION]
    with pytest.raises(KeyError):
        partitions(HOT)["2018"]
