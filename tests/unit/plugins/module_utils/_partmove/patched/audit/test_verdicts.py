# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What two reads say together, of partitions with one verdict for all replicas and of all others."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.judge import Verdict
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.kind import FindingKind
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.verdicts import Verdicts

HOT, COLD = Verdict(FindingKind.HOT), Verdict(FindingKind.COLD, ("a_0_0_0",))
UNLIKE, LACKS = Verdict(FindingKind.UNLIKE_DISK, ("a_0_0_0",)), Verdict(FindingKind.LACKS_DATA)
BOTH = ("r1", "r2")
SETTLED = Verdicts({"a": HOT}, BOTH, {})


def of_rules(**verdicts: Verdict) -> Verdicts:
    return Verdicts({}, BOTH, {"a": verdicts})


def test_a_settled_partition_has_its_verdict_for_each_replica() -> None:
    verdicts = Verdicts({"a": HOT}, BOTH, {"b": {"r9": LACKS}})
    assert {each: dict(verdicts[each]) for each in verdicts} == {
        "a": {"r1": HOT, "r2": HOT},
        "b": {"r9": LACKS},
    }
    assert len(verdicts) == 2
    assert verdicts.judged_replicas() == {"r1", "r2", "r9"}
    assert verdicts.doubtful() == {"b"}
    assert list(verdicts.by_rules()) == [LACKS]


def test_replicas_without_a_partition_have_no_verdict() -> None:
    assert Verdicts({}, BOTH, {"b": {"r9": HOT}}).judged_replicas() == {"r9"}
    assert Verdicts({}, BOTH, {"b": {"r9": HOT}}).doubtful() == frozenset()


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (SETTLED, SETTLED, {"r1": HOT, "r2": HOT}),
        (SETTLED, Verdicts({"a": COLD}, BOTH, {}), {"r1": HOT, "r2": HOT}),
        (SETTLED, Verdicts({"a": COLD}, ("r2", "r3"), {}), {"r2": HOT, "r3": COLD}),
        (SETTLED, of_rules(r1=UNLIKE, r2=HOT), {"r1": UNLIKE, "r2": HOT}),
        (SETTLED, of_rules(r1=LACKS, r2=HOT), {"r1": HOT, "r2": HOT}),
        (SETTLED, Verdicts({}, BOTH, {}), {}),
        (of_rules(r1=LACKS, r2=HOT), SETTLED, {"r1": HOT, "r2": HOT}),
        (of_rules(r1=LACKS, r2=HOT), of_rules(r1=LACKS, r2=LACKS), {"r1": LACKS, "r2": HOT}),
        (of_rules(r1=LACKS), of_rules(r1=LACKS, r2=LACKS), {"r1": LACKS}),
    ],
    ids=[
        "settled twice",
        "settled in the other ensemble",
        "settled for other replicas",
        "content",
        "of the second read alone",
        "gone",
        "of the first read alone",
        "of both reads",
        "a new replica",
    ],
)
def test_two_reads(first: Verdicts, second: Verdicts, expected: dict[str, Verdict]) -> None:
    assert dict(first.confirmed_by(second, {"a"}).get("a", {})) == expected


def test_partitions_without_doubt_keep_their_verdict() -> None:
    first = Verdicts({"a": HOT}, BOTH, {"b": {"r1": HOT}})
    found = first.confirmed_by(Verdicts({}, BOTH, {}), ())
    assert (found.settled, found.of_rules, found.replicas) == (first.settled, first.of_rules, BOTH)
