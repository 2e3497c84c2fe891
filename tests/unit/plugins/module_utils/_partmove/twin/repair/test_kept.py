# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Kept parts are listed under the lease alone, added up, and removed only if unchanged."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import FormatError, LeaseLost
from ansible_collections.olap.partmove.plugins.module_utils._partmove.lease.lease import Lease, LeaseKeeper
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import SetData
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.record import Records
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import Side
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.repair.kept import (
    KeptParts,
    StoredKept,
)
from support.memory.memory import MemoryEnsemble, MemoryStore

PATH = "/tables/01/hits"


@pytest.fixture
def hot() -> MemoryStore:
    return MemoryEnsemble("hot").open()


@pytest.fixture
def lease(hot: MemoryStore) -> Lease:
    return LeaseKeeper(hot, None, hot.ensemble.clock, owner="a test").acquire(PATH)


@pytest.fixture
def kept(hot: MemoryStore) -> KeptParts:
    return KeptParts(hot, "/partmove", PATH)


def test_names_and_rows_are_added_up(hot: MemoryStore, kept: KeptParts, lease: Lease) -> None:
    assert (kept.partition_ids(), kept.read("p")) == ([], None)
    kept.add(lease, "p", Side.HOT, ["b"], added=3)
    kept.add(lease, "p", Side.HOT, ["a"], added=2)
    kept.add(lease, "p", Side.COLD, ["c"])
    stored = kept.read("p")
    assert stored == StoredKept({Side.HOT: ["a", "b"], Side.COLD: ["c"]}, 5, 2)
    kept.add(lease, "p", Side.COLD, ["c"])
    assert kept.read("p") == stored
    assert kept.partition_ids() == ["p"]
    Records(hot, "/partmove", PATH).commit(lease, {}, kept.settle("p"))
    stored = kept.read("p")
    assert stored == StoredKept({Side.HOT: ["a", "b"], Side.COLD: ["c"]}, 0, 3)
    assert kept.settle("p") == kept.settle("q") == []
    kept.remove(lease, "p", stored)
    assert kept.partition_ids() == []


def test_nothing_is_written_without_the_lease(hot: MemoryStore, kept: KeptParts, lease: Lease) -> None:
    kept.add(lease, "p", Side.HOT, ["a"])
    stored = kept.read("p")
    assert stored is not None
    hot.commit([(SetData(lease.epoch_path, b"", lease.hot_epoch),)])
    with pytest.raises(LeaseLost, match="no longer valid"):
        kept.add(lease, "q", Side.HOT, ["a"])
    with pytest.raises(LeaseLost, match="no longer valid"):
        kept.remove(lease, "p", stored)
    assert kept.read("p") == stored


def test_a_changed_list_is_not_removed(kept: KeptParts, lease: Lease) -> None:
    kept.add(lease, "p", Side.HOT, ["a"])
    stored = kept.read("p")
    assert stored is not None
    kept.add(lease, "p", Side.HOT, ["b"])
    with pytest.raises(LeaseLost, match="has changed since this run read it: bad version"):
        kept.remove(lease, "p", stored)


def test_other_data_is_refused(hot: MemoryStore, kept: KeptParts, lease: Lease) -> None:
    kept.add(lease, "p", Side.HOT, ["a"])
    hot.commit([(SetData(kept.path("p"), b"{}", 0),)])
    with pytest.raises(FormatError, match="this is no list of kept parts"):
        kept.read("p")
