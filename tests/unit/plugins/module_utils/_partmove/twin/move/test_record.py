# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A record is read as written, written only under the lease, and removed only if unchanged."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import FormatError, LeaseLost
from ansible_collections.olap.partmove.plugins.module_utils._partmove.lease.lease import Lease, LeaseKeeper
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import Create, SetData
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.record import (
    Change,
    Records,
    StoredRecord,
    TwinRecord,
    parse_record,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import (
    PairMarks,
    PartContent,
    Side,
    TableMarks,
)
from support.memory.memory import MemoryEnsemble, MemoryStore

PATH = "/tables/01/hits"
MARKS = PairMarks(
    TableMarks("ab12", "0000000003", ("patch-1",), 7),
    TableMarks("ab12", "", (), -1),
)
RECORD = TwinRecord(
    Side.COLD,
    "default:/a",
    "cold:/b",
    {"p_1_1_0": PartContent(3, "aa", "bb")},
    {},
    {},
    (),
    1_600_000_000_000,
    marks=MARKS,
)


def write(
    records: Records, lease: Lease, partition: str, stored: StoredRecord | None, record: TwinRecord
) -> StoredRecord:
    """Create or replace one record."""
    return records.commit(lease, {partition: Change(stored, record)})[partition]


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
    kept = write(records, lease, "p", None, RECORD)
    assert records.read(["p", "q"]) == {"p": kept}
    verified = RECORD._replace(clones={"p_1_1_0": "p_7_7_0"}, dropping=("p_1_1_0",))
    kept = write(records, lease, "p", kept, verified)
    assert records.read(["p"]) == {"p": kept} == {"p": StoredRecord(verified, 1)}
    assert verified.is_verified
    assert not RECORD.is_verified
    assert records.partition_ids() == ["p"]
    assert records.commit(lease, {"p": Change(kept, None)}) == {}
    assert records.partition_ids() == []


def test_nothing_is_written_without_the_lease(hot: MemoryStore, records: Records, lease: Lease) -> None:
    kept = write(records, lease, "p", None, RECORD)
    hot.commit([(SetData(lease.epoch_path, b"", lease.hot_epoch),)])
    with pytest.raises(LeaseLost, match="no longer valid"):
        write(records, lease, "q", None, RECORD)
    with pytest.raises(LeaseLost, match="no longer valid"):
        write(records, lease, "p", kept, RECORD)
    with pytest.raises(LeaseLost, match="no longer valid"):
        assert records.commit(lease, {"p": Change(kept, None)}) == {}
    assert records.read(["p", "q"]) == {"p": kept}


def test_a_changed_record_is_neither_replaced_nor_removed(records: Records, lease: Lease) -> None:
    kept = write(records, lease, "p", None, RECORD)
    with pytest.raises(LeaseLost, match="has changed since this run read it: node exists"):
        write(records, lease, "p", None, RECORD)
    changed = write(records, lease, "p", kept, RECORD._replace(began=1))
    with pytest.raises(LeaseLost, match="has changed since this run read it: bad version"):
        write(records, lease, "p", kept, RECORD)
    with pytest.raises(LeaseLost, match="has changed since this run read it: bad version"):
        assert records.commit(lease, {"p": Change(kept, None)}) == {}
    assert records.read(["p"]) == {"p": changed}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (b'"version":2', b'"version":3', "its version is 3"),
        (b'"log":7', b'"log":"7"', "log"),
        (b'"patches":["patch-1"]', b'"patches":"patch-1"', "patches"),
        (b'"destination":"cold"', b'"destination":"warm"', "destination"),
        (b'[3,"aa","bb"]', b'[3,"aa"]', "a list of a number of rows and two hashes"),
        (b'[3,"aa","bb"]', b'[-3,"aa","bb"]', "a list of a number of rows and two hashes"),
        (b'"held":{},', b"", "held is missing"),
    ],
)
def test_an_invalid_record_is_refused(
    hot: MemoryStore, records: Records, lease: Lease, old: bytes, new: bytes, message: str
) -> None:
    write(records, lease, "p", None, RECORD)
    path = records.path("p")
    hot.commit([(SetData(path, RECORD.encode().replace(old, new), 0),)])
    (znode,) = hot.read([path])
    assert znode is not None
    with pytest.raises(FormatError, match=message):
        parse_record(znode)


OLDER = (
    b'{"format":"olap.partmove/twin-move","version":1,"destination":"cold","hot":"default:/a","cold":"cold:/b",'
    b'"parts":{"p_1_1_0":[3,"aa","bb"],"p_2_2_0":[3,"cc","dd"]},"held":{},'
    b'"clones":{"p_1_1_0":"p_7_7_0","p_2_2_0":"p_8_8_0"},"dropping":["p_1_1_0","p_2_2_0"],"began":1,'
    b'"merges_stopped":false,"undoing":[]}'
)


def test_a_record_of_an_earlier_release_is_read(hot: MemoryStore, records: Records, lease: Lease) -> None:
    """Its run named a part only after it had dropped the one before."""
    kept = write(records, lease, "p", None, RECORD)
    hot.commit([(SetData(records.path("p"), OLDER, 0),)])
    stored = records.read(["p"])["p"]
    assert (stored.record.dropped, stored.record.dropping) == (("p_1_1_0",), ("p_2_2_0",))
    assert stored.record.marks is None
    assert not stored.record.is_whole
    again = write(records, lease, "p", stored, stored.record)
    assert records.read(["p"]) == {"p": again}
    assert again.version == kept.version + 2


def test_several_records_are_written_in_one_transaction_with_what_belongs_to_them(
    hot: MemoryStore, records: Records, lease: Lease
) -> None:
    stored = records.commit(lease, {each: Change(None, RECORD) for each in "abc"})
    assert records.read(["a", "b", "c"]) == stored
    hot.commit([(Create("/ledger", b""),)])
    removals = {each: Change(stored[each], None) for each in "ab"}
    with pytest.raises(LeaseLost, match="/ledger has changed"):
        records.commit(lease, removals, [SetData("/ledger", b"x", 7)])
    assert records.partition_ids() == ["a", "b", "c"]
    records.commit(lease, removals, [SetData("/ledger", b"x", 0)])
    assert records.partition_ids() == ["c"]
    (ledger,) = hot.read(["/ledger"])
    assert ledger is not None
    assert ledger.data == b"x"


def test_records_that_exceed_a_transaction_are_written_in_several(records: Records, lease: Lease) -> None:
    parts = {f"p_{number}_{number}_0": PartContent(3, "a" * 32, "b" * 32) for number in range(2_000)}
    large = RECORD._replace(parts=parts)
    stored = records.commit(lease, {f"p{number}": Change(None, large) for number in range(9)})
    assert records.read(sorted(stored)) == stored
