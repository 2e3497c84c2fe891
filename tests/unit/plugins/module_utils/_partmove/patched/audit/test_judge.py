# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which kind comes of which evidence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import pytest
from hypothesis import given, strategies as st

from ansible_collections.olap.partmove.plugins.module_utils._partmove.binding.owner import Owner
from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.names import is_covered
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.evidence import (
    PartitionEvidence,
    ReplicaEvidence,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.judge import (
    Verdict,
    judge,
    only_cold,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.kind import FindingKind
from support.memory.evidence import AB, DAY, A, B, partition, parts, replica

OTHER = Owner.OTHER_CLUSTER
C = f"{DAY}_7_7_0"


class Case(NamedTuple):
    """Evidence, and the verdicts for r1 and r2; a kind alone if no parts are listed."""

    name: str
    evidence: PartitionEvidence
    r1: FindingKind | tuple[FindingKind, str]
    r2: FindingKind | tuple[FindingKind, str] | None = None
    r3: FindingKind | None = None


def one(name: str, kind: FindingKind, told: str = A, **fields: object) -> Case:
    """A table of one replica."""
    given_to_partition = ("state", "owner", "cold_is_known", "seconds_needed")
    of_partition = {key: fields.pop(key) for key in given_to_partition if key in fields}
    return Case(name, partition(replica(**fields), **of_partition), (kind, told))  # type: ignore[arg-type]


SOUND = [
    one("hot", FindingKind.HOT, "", hot=A, disk=A),
    one("hot and merged on disk already", FindingKind.HOT, "", hot=f"{A} {B} {AB}", disk=AB),
    one(
        "hot after a merge that the disk has yet to do",
        FindingKind.HOT,
        "",
        hot=f"{AB} {A} {B}",
        disk=f"{A} {AB}",
    ),
    one("hot, and marked so", FindingKind.HOT, "", state="HOT", hot=A, disk=A),
    one("cold", FindingKind.COLD, state="COLD", cold=A, disk=A),
    one(
        "brought back just now",
        FindingKind.COPIES_NEEDED,
        state="HOT",
        hot=A,
        cold=A,
        disk=A,
        seconds_needed=9.0,
    ),
    one("empty", FindingKind.EMPTY, ""),
    one("empty, and marked hot", FindingKind.EMPTY, "", state="HOT"),
]
UNREGISTERED = [
    one("registered nowhere", FindingKind.UNREGISTERED, disk=A),
    one("a second part is registered nowhere", FindingKind.UNREGISTERED, B, hot=A, disk=f"{A} {B}"),
    one(
        "only what it was merged of is registered",
        FindingKind.UNREGISTERED,
        AB,
        hot=f"{A} {B}",
        disk=f"{A} {AB}",
    ),
    one("gone from cold", FindingKind.UNREGISTERED, state="COLD", disk=A),
    one(
        "worse than what cannot be read", FindingKind.UNREGISTERED, B, hot=A, disk=f"{A} {B}", unreadable="/x"
    ),
    one("another cold ensemble", FindingKind.COLD_UNKNOWN, state="COLD", disk=A, cold_is_known=False),
    one("another cold ensemble, and hot", FindingKind.UNREGISTERED, disk=A, cold_is_known=False),
    Case(
        "registered for the other replica",
        partition(replica(disk=A), replica("r2", hot=A, disk=A)),
        (FindingKind.REGISTERED_FOR_ANOTHER, A),
        FindingKind.HOT,
    ),
    Case(
        "registered for the other replica in cold",
        partition(replica(disk=A), replica("r2", cold=A, disk=A), state="COLD"),
        (FindingKind.REGISTERED_FOR_ANOTHER, A),
        FindingKind.COLD,
    ),
    Case(
        "one part registered for the other replica, and one nowhere",
        partition(replica(disk=f"{A} {B}"), replica("r2", hot=A, disk=A)),
        (FindingKind.UNREGISTERED, f"{A} {B}"),
        FindingKind.HOT,
    ),
]
MISSING = [
    one("in hot and not on disk", FindingKind.NOT_ON_DISK, hot=A),
    one("in both and not on disk", FindingKind.NOT_ON_DISK, state="HOT", hot=A, cold=A),
    one("set aside while cold", FindingKind.SET_ASIDE, state="COLD", cold=A, detached=f"ignored_{A}"),
    one("set aside while hot", FindingKind.SET_ASIDE, hot=A, detached=A),
    one("set aside twice", FindingKind.SET_ASIDE, state="COLD", cold=A, detached=f"unexpected_{A}_try1"),
    one("another part was set aside", FindingKind.NOT_ON_DISK, hot=A, detached=f"ignored_{B} ignored_9{A}"),
    one(
        "detached by a statement that left cold as it is", FindingKind.GHOST, state="COLD", cold=A, detached=A
    ),
    one("detached by a statement while State says hot", FindingKind.DROPPED, state="HOT", cold=A, detached=A),
    Case(
        "detached by a statement, attached elsewhere",
        partition(
            replica(cold=A, hot=B, disk=B, detached=A), replica("r2", cold=A, hot=B, disk=B), state="COLD"
        ),
        (FindingKind.GHOST, A),
        (FindingKind.GHOST, A),
    ),
    Case(
        "detached by a statement, and nothing is left of it in cold for the other replica",
        partition(replica(cold=A, detached=A), replica("r2", detached=A), state="COLD"),
        (FindingKind.GHOST, A),
        FindingKind.EMPTY,
    ),
    Case(
        "moved by hand on one replica, which no statement does",
        partition(replica(cold=A, detached=A), replica("r2", cold=A, disk=A), state="COLD"),
        (FindingKind.SET_ASIDE, A),
        (FindingKind.COLD, A),
    ),
    one("cold, and on no disk", FindingKind.GHOST, state="COLD", cold=A),
    one("dropped while State says hot", FindingKind.DROPPED, state="HOT", cold=A),
    one("dropped, and no State", FindingKind.DROPPED, cold=A),
    one("a former table's, on no disk", FindingKind.FORMER_TABLE, cold=A, owner=Owner.FORMER),
    one("nobody's, on no disk", FindingKind.DROPPED, cold=A, owner=Owner.NOBODY),
    one(
        "a part of two is gone from cold's disk", FindingKind.GHOST, B, state="COLD", cold=f"{A} {B}", disk=A
    ),
    Case(
        "the other replica has it on disk",
        partition(replica(cold=A), replica("r2", cold=A, disk=A), state="COLD"),
        (FindingKind.LACKS_DATA, A),
        (FindingKind.COLD, A),
    ),
    Case(
        "the other replica set it aside",
        partition(replica(cold=A), replica("r2", cold=A, detached=f"ignored_{A}"), state="COLD"),
        (FindingKind.LACKS_DATA, A),
        (FindingKind.SET_ASIDE, A),
    ),
    Case(
        "a replica that was added while the partition was cold",
        partition(replica(), replica("r2", cold=A, disk=A), state="COLD"),
        (FindingKind.LACKS_DATA, A),
        FindingKind.COLD,
    ),
    Case(
        "a replica that has yet to fetch a hot partition",
        partition(replica(), replica("r2", hot=A, disk=A)),
        FindingKind.HOT,
        FindingKind.HOT,
    ),
    Case(
        "who knows whether the other replica has it",
        partition(replica(cold=A), replica("r2", cold=A, disk=None), state="COLD"),
        (FindingKind.NOT_JUDGED, A),
        FindingKind.NOT_JUDGED,
    ),
    Case(
        "a silent server beside one that has everything",
        partition(replica(cold=A, disk=A), replica("r2", cold=A, disk=None), state="COLD"),
        (FindingKind.COLD, A),
        FindingKind.NOT_JUDGED,
    ),
]
OTHERS = [
    one("cannot be read", FindingKind.UNREADABLE, "/x", hot=A, disk=A, unreadable="/x"),
    one("other data than on disk", FindingKind.UNLIKE_DISK, hot=A, disk=A, unlike_disk=A),
    one("other copies", FindingKind.COPIES_DIFFER, state="HOT", hot=A, cold=A, disk=A, differing=A),
    one("another cluster's copies", FindingKind.OTHER_CLUSTER, hot=A, cold=A, disk=A, owner=OTHER),
    one("another cluster's, and cold", FindingKind.OTHER_CLUSTER, state="COLD", cold=A, disk=A, owner=OTHER),
    one("another cluster's, on no disk", FindingKind.OTHER_CLUSTER, cold=A, owner=OTHER),
    one(
        "another cluster's, and unregistered parts", FindingKind.UNREGISTERED, B, cold=A, disk=B, owner=OTHER
    ),
    one("another cluster's, unreadable", FindingKind.UNREADABLE, "/x", cold=A, unreadable="/x", owner=OTHER),
    one("another cluster's replica", FindingKind.OTHER_CLUSTER, in_hot=False, cold=A, owner=OTHER),
    one("hot, and another cluster has other partitions", FindingKind.HOT, "", hot=A, disk=A, owner=OTHER),
    one("nobody's copies", FindingKind.FOREIGN, hot=A, cold=A, disk=A, owner=Owner.NOBODY),
    one(
        "nobody's copies, of another table",
        FindingKind.FORMER_TABLE,
        hot=A,
        cold=A,
        disk=A,
        owner=Owner.NOBODY,
        differing=A,
    ),
    one("nobody's, and cold", FindingKind.FOREIGN, state="COLD", cold=A, disk=A, owner=Owner.NOBODY),
    one(
        "a former table's, and hot has them",
        FindingKind.FORMER_TABLE,
        hot=A,
        cold=A,
        disk=A,
        owner=Owner.FORMER,
    ),
    one("a former table's, and only cold has them", FindingKind.FOREIGN, cold=A, disk=A, owner=Owner.FORMER),
    one("some hot and some cold", FindingKind.HALF_COLD, B, state="COLD", hot=A, cold=B, disk=f"{A} {B}"),
    one(
        "cold, in another ensemble",
        FindingKind.COLD_UNKNOWN,
        state="COLD",
        cold=A,
        disk=A,
        cold_is_known=False,
    ),
    one("cold without the marker", FindingKind.COLD_UNMARKED, cold=A, disk=A),
    one("cold, marked hot", FindingKind.COLD_UNMARKED, state="HOT", cold=A, disk=A),
    one("hot, marked cold", FindingKind.HOT_MARKED_COLD, state="COLD", hot=A, disk=A),
    one("copied, marked cold", FindingKind.HOT_MARKED_COLD, state="COLD", hot=A, cold=A, disk=A),
    one(
        "several cold parts",
        FindingKind.SEVERAL_COLD_PARTS,
        f"{A} {B}",
        state="COLD",
        cold=f"{A} {B}",
        disk=f"{A} {B}",
    ),
    one("copies nobody needs", FindingKind.COPIES_LEFT, state="HOT", hot=A, cold=A, disk=A),
    one("empty, marked cold", FindingKind.EMPTY_MARKED_COLD, "", state="COLD"),
    Case(
        "nobody's copies for one of two replicas",
        partition(replica(hot=A, disk=A), replica("r2", hot=A, cold=A, disk=A), owner=Owner.NOBODY),
        (FindingKind.FOREIGN, A),
        (FindingKind.FOREIGN, A),
    ),
    Case(
        "different cold parts",
        partition(replica(cold=A, disk=A), replica("r2", cold=B, disk=B), state="COLD"),
        (FindingKind.UNEVEN, A),
        (FindingKind.UNEVEN, B),
    ),
    Case(
        "one replica hot and the other cold",
        partition(replica(hot=A, disk=A), replica("r2", cold=A, disk=A), state="COLD"),
        (FindingKind.HALF_COLD, A),
        (FindingKind.HALF_COLD, A),
    ),
    Case(
        "a replica that hot does not have",
        partition(replica(hot=A, disk=A), replica("r2", in_hot=False, disk=None, cold=A)),
        FindingKind.HOT,
        (FindingKind.ANOTHER_REPLICA, A),
    ),
    Case(
        "a replica that hot does not have, beside a cold partition",
        partition(replica(cold=A, disk=A), replica("r2", in_hot=False, disk=None, cold=A), state="COLD"),
        (FindingKind.COLD, A),
        (FindingKind.ANOTHER_REPLICA, A),
    ),
    Case(
        "a replica that hot does not have says nothing of data",
        partition(replica(cold=A), replica("r2", in_hot=False, disk=None, cold=A), state="COLD"),
        (FindingKind.GHOST, A),
        (FindingKind.ANOTHER_REPLICA, A),
    ),
]
GHOSTS = [
    Case(
        "attached under another name, and cold has the old part of the other replica",
        partition(replica(hot=B, disk=B), replica("r2", hot=B, cold=A, disk=B), state="COLD"),
        (FindingKind.GHOST, A),
        (FindingKind.GHOST, A),
    ),
    Case(
        "attached under another name, and State is not cold",
        partition(replica(hot=B, disk=B), replica("r2", hot=B, cold=A, disk=B), state="HOT"),
        (FindingKind.DROPPED, A),
        (FindingKind.DROPPED, A),
    ),
    Case(
        "half cold, and the server has what the cold part of the other replica was merged into",
        partition(replica(hot=B, cold=AB, disk=f"{B} {AB}"), replica("r2", cold=A, disk=""), state="COLD"),
        (FindingKind.HALF_COLD, f"{A} {AB}"),
        (FindingKind.LACKS_DATA, A),
    ),
    Case(
        "hot and half cold, and the other replica has a cold part on no disk",
        partition(
            replica(hot=A, cold=B, disk=f"{A} {B}"), replica("r2", hot=A, cold=C, disk=A), state="COLD"
        ),
        (FindingKind.GHOST, C),
        (FindingKind.GHOST, C),
    ),
    Case(
        "cold, and the other replica has a cold part on no disk",
        partition(replica(cold=A, disk=A), replica("r2", cold=B, disk=""), state="COLD"),
        (FindingKind.GHOST, B),
        (FindingKind.GHOST, B),
    ),
    Case(
        "copies that differ, and the other replica has a cold part on no disk",
        partition(
            replica(hot=A, cold=A, disk=A, differing=A), replica("r2", hot=A, cold=B, disk=A), state="COLD"
        ),
        (FindingKind.GHOST, B),
        (FindingKind.GHOST, B),
    ),
    Case(
        "attached under another name, and the third server is silent",
        partition(
            replica(hot=B, disk=B),
            replica("r2", hot=B, cold=A, disk=B),
            replica("r3", hot=B, disk=None),
            state="COLD",
        ),
        (FindingKind.NOT_JUDGED, A),
        (FindingKind.NOT_JUDGED, A),
        FindingKind.NOT_JUDGED,
    ),
    Case(
        "attached under another name, and the server that may have the cold part is silent",
        partition(replica(hot=B, disk=B), replica("r2", hot=B, cold=A, disk=None), state="COLD"),
        (FindingKind.NOT_JUDGED, A),
        FindingKind.NOT_JUDGED,
    ),
    Case(
        "hot beside a cold part that the other server detached",
        partition(
            replica(hot=B, disk=B),
            replica("r2", hot=B, cold=A, disk=B, detached=f"ignored_{A}"),
            state="COLD",
        ),
        (FindingKind.HALF_COLD, A),
        (FindingKind.SET_ASIDE, A),
    ),
    Case(
        "dropped, and one of two servers removed its part znodes",
        partition(replica(), replica("r2", cold=A), state="COLD"),
        FindingKind.EMPTY,
        (FindingKind.GHOST, A),
    ),
]
CASES = [*SOUND, *UNREGISTERED, *MISSING, *OTHERS, *GHOSTS]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_the_evidence_says(case: Case) -> None:
    found = judge(case.evidence)
    of_replicas = {"r1": case.r1, "r2": case.r2, "r3": case.r3}
    expected = {name: kind for name, kind in of_replicas.items() if kind is not None}
    assert {name: verdict.kind for name, verdict in found.items()} == {
        name: kind if isinstance(kind, FindingKind) else kind[0] for name, kind in expected.items()
    }
    for name, kind in expected.items():
        if not isinstance(kind, FindingKind):
            assert found[name].parts == tuple(sorted(kind[1].split()))


def test_every_kind_has_a_case() -> None:
    seen = {verdict.kind for case in CASES for verdict in judge(case.evidence).values()}
    assert seen == set(FindingKind)


def test_why_it_was_not_judged() -> None:
    found = judge(partition(replica(cold=A), replica("r2", disk=None), state="COLD"))
    assert found["r2"].reason == "the server of r2 is silent"
    assert found["r1"].reason == "replica r2: the server of r2 is silent"


@pytest.mark.parametrize(
    ("evidence", "unsafe"),
    [
        (replica(disk=A), True),
        (replica(hot=A, disk=A), False),
        (replica(hot=A), False),
        (replica(cold=A), False),
        (replica(hot=A, cold=A), True),
        (replica(hot=A, cold=A, detached=f"ignored_{A}"), True),
        (replica(cold=A, detached=f"ignored_{A}"), False),
        (replica(hot=f"{A} {B} {AB}", cold=f"{A} {B}", disk=AB), False),
        (replica(hot=A, cold=A, disk=A, unreadable="/x"), True),
        (replica(hot=A, cold=A, disk=A, unreadable="/x", damaged_copies="/x"), False),
        (replica(hot=A, cold=A, disk=A, unreadable="/x /y", damaged_copies="/x"), True),
        (replica(hot=f"{A} {B}", cold=f"{A} {B}", disk=A, unreadable="/x", damaged_copies="/x"), True),
        (replica(hot=A, cold=A, disk=None, unreadable="/x", damaged_copies="/x"), True),
        (replica(hot=A, cold=A, disk=f"{A} {B}", unreadable="/x", damaged_copies="/x"), True),
    ],
)
def test_what_must_not_be_restarted(evidence: ReplicaEvidence, unsafe: bool) -> None:
    """A part in both ensembles, but not on disk, keeps the table from starting."""
    assert judge(partition(evidence))["r1"].restart_unsafe is unsafe


@pytest.mark.parametrize(
    ("evidence", "kind"),
    [
        (replica(hot=A, disk=f"{A} {B}", before=("", B)), FindingKind.HOT),
        (replica(hot=A, disk=f"{A} {B}", before=(B, "")), FindingKind.UNREGISTERED),
        (replica(hot=f"{A} {B}", disk=A, before=(B, A)), FindingKind.HOT),
        (replica(hot=f"{A} {B}", disk=A, before=("", B)), FindingKind.NOT_ON_DISK),
        (replica(cold=A, before=("", A)), FindingKind.DROPPED),
    ],
)
def test_only_what_was_in_doubt_before_counts(evidence: ReplicaEvidence, kind: FindingKind) -> None:
    assert judge(partition(evidence))["r1"].kind is kind


def test_parts_that_only_cold_has() -> None:
    assert only_cold(replica(hot=A, cold=f"{A} {B}")) == list(parts(B))
    assert only_cold(replica(hot=AB, cold=f"{A} {B}")) == []


# --- any evidence ------------------------------------------------------------------------------

names = st.lists(st.sampled_from([A, B, AB, f"{DAY}_2_2_0", f"{DAY}_0_0_0_5"]), unique=True, max_size=3)
texts = names.map(" ".join)


@st.composite
def replicas(draw: st.DrawFn, name: str) -> ReplicaEvidence:
    in_hot = draw(st.booleans()) or draw(st.booleans())
    return replica(
        name,
        in_hot=in_hot,
        hot=draw(texts) if in_hot else "",
        cold=draw(texts),
        disk=draw(st.none() | texts) if in_hot else None,
        detached=draw(texts),
        differing=draw(texts),
        unlike_disk=draw(texts),
        unreadable=draw(st.sampled_from(["", "", "/x"])),
    )


@st.composite
def partitions(draw: st.DrawFn) -> PartitionEvidence:
    drawn: Sequence[ReplicaEvidence] = [
        draw(replicas(f"r{number}")) for number in range(1, 1 + draw(st.integers(1, 3)))
    ]
    return partition(
        *drawn,
        state=draw(st.sampled_from(["", "HOT", "COLD"])),
        owner=draw(st.sampled_from(Owner)),
        cold_is_known=draw(st.booleans()),
        seconds_needed=draw(st.sampled_from([0.0, 9.0])),
    )


def has_everything_registered(each: ReplicaEvidence) -> bool:
    return all(is_covered(part, (*each.hot, *each.cold)) for part in each.active or ())


def has_everything_on_disk(each: ReplicaEvidence) -> bool:
    return all(is_covered(part, each.active or ()) for part in (*each.hot, *each.cold))


@given(partitions())
def test_every_replica_is_of_one_kind_and_consistent_only_where_nothing_contradicts(
    evidence: PartitionEvidence,
) -> None:
    found = judge(evidence)
    assert list(found) == [each.name for each in evidence.replicas]
    for each in evidence.replicas:
        verdict = found[each.name]
        if verdict.kind.is_consistent:
            assert each.is_in_hot
            assert each.active is not None
            assert has_everything_registered(each)
            assert has_everything_on_disk(each)
            assert not each.differing | each.unlike_disk
            assert not each.unreadable
        if each.active is not None and not has_everything_registered(each):
            assert verdict.restart_unsafe
        assert verdict.parts == tuple(sorted(verdict.parts))
        assert bool(verdict.reason) == (verdict.kind is FindingKind.NOT_JUDGED)


@given(partitions())
def test_the_order_of_replicas_says_nothing(evidence: PartitionEvidence) -> None:
    fields = {name: getattr(evidence, name) for name in ("partition_id", "state", "owner", "cold_is_known")}
    mirrored = PartitionEvidence(
        **fields, replicas=evidence.replicas[::-1], seconds_needed=evidence.seconds_needed
    )

    def told(verdicts: dict[str, Verdict]) -> dict[str, tuple[FindingKind, tuple[str, ...]]]:
        return {name: (verdict.kind, verdict.parts) for name, verdict in verdicts.items()}

    assert told(judge(mirrored)) == told(judge(evidence))
