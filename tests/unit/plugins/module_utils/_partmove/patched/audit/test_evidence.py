# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The limits of one read of an audit, and when a partition is cold."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.evidence import (
    ReplicaEvidence,
)
from support.memory.evidence import AB, A, B, partition, parts, replica


@pytest.mark.parametrize(
    ("evidence", "unregistered", "missing"),
    [
        (replica(), "", ""),
        (replica(hot=A, disk=A), "", ""),
        (replica(cold=A, disk=A), "", ""),
        (replica(hot=f"{A} {B}", disk=AB), AB, ""),
        (replica(hot=AB, disk=f"{A} {B}"), "", AB),
        (replica(hot=f"{A} {B} {AB}", disk=AB), "", ""),
        (replica(disk=A), A, ""),
        (replica(cold=A), "", A),
        (replica(hot=A, disk=B), B, A),
        (replica(hot=A, disk=None), "", A),
    ],
)
def test_what_does_not_fit(evidence: ReplicaEvidence, unregistered: str, missing: str) -> None:
    assert evidence.mismatches == (frozenset(unregistered.split()), frozenset(missing.split()))
    assert evidence.unregistered() == list(parts(unregistered))
    assert evidence.missing((*evidence.hot, *evidence.cold)) == list(parts(missing))


@pytest.mark.parametrize(
    ("before", "unregistered", "missing"),
    [(("", ""), "", ""), ((A, B), "", ""), ((B, ""), B, ""), (("", A), "", A), ((B, A), B, A)],
)
def test_only_what_did_not_fit_before_counts(
    before: tuple[str, str], unregistered: str, missing: str
) -> None:
    evidence = replica(hot=A, disk=B, before=before)
    assert evidence.unregistered() == list(parts(unregistered))
    assert evidence.missing(evidence.hot) == list(parts(missing))
    assert evidence.mismatches == (frozenset({B}), frozenset({A}))


@pytest.mark.parametrize(("state", "cold"), [("", False), ("HOT", False), ("COLD", True), ("COLD\n", False)])
def test_only_one_state_is_cold(state: str, cold: bool) -> None:
    assert partition(state=state).is_cold is cold
