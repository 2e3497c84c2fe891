# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Every replica in hot has evidence, one in cold alone only where it has parts."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.binding.owner import Owner
from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.layout import ShardLayout
from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.names import parse_names
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.evidence import DiskParts
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.names import EnsembleNames
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.replicas import (
    NO_PARTITION,
    ListedNames,
    ReplicaAnswer,
    invalid_names,
    registered_host,
    replica_evidence,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import Stat, Znode

FIRST, SECOND = parse_names(["p_0_0_0", "p_1_1_0"], "p", "a test")


def listed(**unreadable: tuple[str, ...]) -> ListedNames:
    """One replica whose server answered, one whose server did not, and one in cold alone."""
    answered = ReplicaAnswer(True, DiskParts({"p_0_0_0": "aa"}, frozenset({"x"})), {"p": (FIRST,)}, "")
    silent = ReplicaAnswer(True, None, {}, "no answer")
    hot = EnsembleNames({"r1": {"p": (FIRST,)}, "r2": {}}, unreadable)
    cold = EnsembleNames({"r1": {}, "r3": {"p": (SECOND,)}}, {})
    return ListedNames(ShardLayout("/a/table"), {"r1": answered, "r2": silent}, hot, cold, {})


def test_evidence_of_each_replica() -> None:
    first, second, third = replica_evidence(listed(), "p")
    assert (first.hot, first.active, first.hashes) == ((FIRST,), (FIRST,), {"p_0_0_0": "aa"})
    assert (second.active, second.silence) == (None, "no answer")
    assert (third.is_in_hot, third.cold) == (False, (SECOND,))
    assert [each.name for each in replica_evidence(listed(), "q")] == ["r1", "r2"]


def test_invalid_names_are_a_partition_without_an_id() -> None:
    assert invalid_names(listed(), Owner.OURS) is None
    found = invalid_names(listed(r1=("/b", "/a")), Owner.OURS)
    assert found is not None
    assert found.partition_id == NO_PARTITION
    assert [(each.name, each.unreadable) for each in found.replicas] == [("r1", ("/a", "/b"))]


@pytest.mark.parametrize(
    ("data", "host"),
    [
        (b"host: ch-1\nport: 9009\ntcp_port: 9000\n", "ch-1"),
        (b"host: a\\'b\nport: 9009\n", "a'b"),
        # A server creates the znode empty.
        (b"", ""),
        (b"\xff", ""),
    ],
)
def test_the_host_of_a_replica_is_the_registered_one(data: bytes, host: str) -> None:
    assert registered_host(Znode("/t/replicas/r1/host", data, Stat(*[0] * 11))) == host


def test_a_replica_without_the_znode_has_no_known_host() -> None:
    assert registered_host(None) == ""
