# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A record is read as written, written only under the lease, and removed only if unchanged."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import FormatError, LeaseLost
from ansible_collections.olap.partmove.plugins.module_utils._partmove.lease.lease import Lease, LeaseKeeper
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import SetData
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.record import (
    Records,
    StoredRecord,
    TwinRecord,
    parse_record,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import (
    PartContent,
    Side,
)
from support.memory.memory import MemoryEnsemble, MemoryStore

PATH = "/tables/01/hits"
RECORD = TwinRecord(
    Side.COLD, "default:/a", "cold:/b", {"p_1_1_0": PartContent(3, "aa", "bb")}, {}, {}, (), 1_600_000_000_000
)


@pytest.fixture
def hot() -> MemoryStore:
    return MemoryEnsemble("hot").open()


@pytest.fixture
def lease(hot: MemoryStore) -> Lease:
    return LeaseKeeper(hot, None, hot.ensemble.clock, owner="a test").acquire(PATH)


@pytest.fixture
def records(hot: MemoryStore) -> Records:
    return Records(hot, "/partmove", PATH)


def test_a_record_is_read_as_it_was_written(records: Records, lease: Lease) -> None:
    kept = records.create(lease, "p", RECORD)
    assert records.read(["p", "q"]) == {"p": kept}
    verified = RECORD._replace(clones={"p_1_1_0": "p_7_7_0"}, dropping=("p_1_1_0",))
    kept = records.replace(lease, "p", kept, verified)
    assert records.read(["p"]) == {"p": kept} == {"p": StoredRecord(verified, 1)}
    assert verified.is_verified
    assert not RECORD.is_verified
    assert records.partition_ids() == ["p"]
    records.remove(lease, "p", kept)
    assert records.partition_ids() == []


def test_nothing_is_written_without_the_lease(hot: MemoryStore, records: Records, lease: Lease) -> None:
    kept = records.create(lease, "p", RECORD)
    hot.commit([(SetData(lease.epoch_path, b"", lease.hot_epoch),)])
    with pytest.raises(LeaseLost, match="no longer valid"):
        records.create(lease, "q", RECORD)
    with pytest.raises(LeaseLost, match="no longer valid"):
        records.replace(lease, "p", kept, RECORD)
    with pytest.raises(LeaseLost, match="no longer valid"):
        records.remove(lease, "p", kept)
    assert records.read(["p", "q"]) == {"p": kept}


def test_a_changed_record_is_neither_replaced_nor_removed(records: Records, lease: Lease) -> None:
    kept = records.create(lease, "p", RECORD)
    with pytest.raises(LeaseLost, match="has changed since this run read it: node exists"):
        records.create(lease, "p", RECORD)
    changed = records.replace(lease, "p", kept, RECORD._replace(began=1))
    with pytest.raises(LeaseLost, match="has changed since this run read it: bad version"):
        records.replace(lease, "p", kept, RECORD)
    with pytest.raises(LeaseLost, match="has changed since this run read it: bad version"):
        records.remove(lease, "p", kept)
    assert records.read(["p"]) == {"p": changed}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (b'"version":1', b'"version":2', "its version is 2"),
        (b'"destination":"cold"', b'"destination":"warm"', "destination"),
        (b'[3,"aa","bb"]', b'[3,"aa"]', "a list of a number of rows and two hashes"),
        (b'[3,"aa","bb"]', b'[-3,"aa","bb"]', "a list of a number of rows and two hashes"),
        (b'"held":{},', b"", "held is missing"),
    ],
)
def test_an_invalid_record_is_refused(
    hot: MemoryStore, records: Records, lease: Lease, old: bytes, new: bytes, message: str
) -> None:
    records.create(lease, "p", RECORD)
    path = records.path("p")
    hot.commit([(SetData(path, RECORD.encode().replace(old, new), 0),)])
    (znode,) = hot.read([path])
    assert znode is not None
    with pytest.raises(FormatError, match=message):
        parse_record(znode)
