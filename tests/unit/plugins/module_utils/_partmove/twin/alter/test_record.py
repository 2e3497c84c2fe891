# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The record of a statement: what is written is read again, and only under the lease."""

from __future__ import annotations

import json

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import (
    EnsembleError,
    FormatError,
    LeaseLost,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.lease.bars import Bar
from ansible_collections.olap.partmove.plugins.module_utils._partmove.lease.lease import LeaseKeeper
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import Create
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.alter.record import (
    AlterRecord,
    AlterRecords,
    parse_record,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.alter.statement import (
    AlterKind,
    Statement,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import Side
from support.memory.bench import HookedStore
from support.memory.memory import MemoryEnsemble

PATH = "/tables/01/hits"
RECORD = AlterRecord(
    Statement(AlterKind.STRUCTURE, "DROP COLUMN `é`", "", ("é",), of_columns=True, names=("a", "b")),
    "token",
    "r1",
    "default:/a",
    "cold:/b",
    "digest",
    {Side.HOT: {"p": 3}, Side.COLD: {}},
    {Side.HOT: "0000000001", Side.COLD: ""},
    {"r1": {"db.`all`": "Merge('db', '^a$')"}, "r2": {}},
    ("p4",),
    (Side.HOT,),
    (),
    {"r1": "digest", "r2": "other"},
)


class Written:
    """A record that was just written."""

    def __init__(self) -> None:
        hot = MemoryEnsemble("hot")
        self.store = HookedStore(hot)
        self.keeper = LeaseKeeper(self.store, None, hot.clock, owner="a", wait_seconds=0, bars=(Bar.HOLD,))
        self.lease = self.keeper.acquire(PATH)
        self.records = AlterRecords(self.store, "/partmove", PATH)
        self.stored = self.records.create(self.lease, RECORD)


@pytest.fixture
def written() -> Written:
    return Written()


def test_a_record_is_written_read_replaced_and_removed(written: Written) -> None:
    assert written.records.read() == written.stored
    done = RECORD._replace(done=(Side.HOT, Side.COLD))
    stored = written.records.replace(written.lease, written.stored, done)
    assert written.records.read() == stored
    written.records.remove(written.lease, stored, [Create("/more", b"")])
    assert written.records.read() is None
    assert written.store.read(["/more"])[0] is not None


def test_a_record_of_another_version_of_it_is_not_replaced(written: Written) -> None:
    written.records.replace(written.lease, written.stored, RECORD)
    with pytest.raises(LeaseLost, match="has changed since this run read it"):
        written.records.remove(written.lease, written.stored)


def test_nothing_is_written_without_the_lease(written: Written) -> None:
    written.keeper.release(written.lease)
    written.keeper.acquire(PATH)
    with pytest.raises(LeaseLost):
        written.records.remove(written.lease, written.stored)
    assert written.records.read() == written.stored


def test_a_lost_answer_is_no_success(written: Written) -> None:
    written.store.loses = lambda _multi: True
    with pytest.raises(EnsembleError, match="It is not known whether"):
        written.records.remove(written.lease, written.stored)


def test_an_unknown_record_is_refused() -> None:
    for data in (b"", b"{}", RECORD.encode().replace(b'"structure"', b'"other"')):
        with pytest.raises(FormatError):
            parse_record(data, "/a")


def test_a_record_of_the_code_before_is_read() -> None:
    fields = json.loads(RECORD.encode())
    del fields["definitions"]
    assert parse_record(json.dumps(fields).encode(), "/the/path") == RECORD._replace(definitions={})
