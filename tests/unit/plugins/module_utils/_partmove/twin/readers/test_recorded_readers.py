# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""At each hook of a group, the policies follow the records in hot, whatever the caller names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import LeaseLost
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.names import GateName
from ansible_collections.olap.partmove.plugins.module_utils._partmove.lease.lease import Lease, LeaseKeeper
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.paths import ensure_path
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import (
    Create,
    Delete,
    SetData,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.partition import (
    TwinOptions,
    TwinShard,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.record import (
    Records,
    TwinRecord,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.readers.hidden import (
    hidden_by,
    policy_condition,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.readers.prepare import (
    ReadersOption,
    ReadersOptions,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.readers.recorded_readers import (
    RecordedReaders,
)
from support.memory.between import record
from support.memory.memory import MemoryEnsemble, MemoryStore
from support.memory.moves import ListJournal
from support.memory.readers import BOTH, READING, MemoryReaderServers
from support.memory.twins import DAY, PATH

if TYPE_CHECKING:
    from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.servers import (
        TwinServers,
    )

OTHER = "20200101"


class Ground:
    """Records of a shard path under a lease, and its servers."""

    def __init__(self) -> None:
        self.hot: MemoryStore = MemoryEnsemble("hot").open()
        clock = self.hot.ensemble.clock
        self.lease: Lease = LeaseKeeper(self.hot, None, clock, owner="a test").acquire(PATH)
        self.records = Records(self.hot, "/partmove", PATH)
        self.servers = MemoryReaderServers()
        self.there: Mapping[str, TwinRecord] = {}

    def readers(self, option: str = "auto") -> RecordedReaders:
        options = ReadersOptions(ReadersOption(option))
        clock, journal, servers = self.hot.ensemble.clock, ListJournal(), cast("TwinServers", None)
        shard = TwinShard(
            PATH, self.hot, clock, journal, servers, self.records, self.lease, BOTH, TwinOptions()
        )
        return RecordedReaders(self.servers, shard, options, has_records=False)

    def write(self, records: Mapping[str, TwinRecord]) -> None:
        """Let hot have these records and no other."""
        for each in self.there:
            self.hot.commit([(Delete(self.records.path(each), 0),)])
        for each, one in records.items():
            path = self.records.path(each)
            ensure_path(self.hot, path.rpartition("/")[0])
            self.hot.commit([(Create(path, one.encode()),)])
        self.there = records

    @property
    def condition(self) -> str:
        """What the records demand."""
        return policy_condition(hidden_by(self.there), BOTH[0])


@pytest.fixture
def ground() -> Ground:
    return Ground()


def test_hooks_of_a_group_follow_all_records(ground: Ground) -> None:
    readers = ground.readers()
    left = record()._replace(parts={f"{OTHER}_1_1_0": next(iter(record().parts.values()))}, held={})
    ground.write({DAY: record(), OTHER: left})
    assert readers.before_attach(BOTH, {DAY: record()}, ()) is None
    assert ground.servers.policies["r2"] == ground.condition
    ground.write({DAY: record(clones=True), OTHER: left})
    assert readers.before_drop(BOTH, {DAY: record(clones=True)}, (DAY,)) is None
    assert ground.servers.policies["r2"] == ground.condition
    assert OTHER in ground.condition
    assert readers.before_removal(BOTH, [DAY]) is None
    ground.write({OTHER: left})
    assert ground.servers.policies["r2"] == ground.condition
    readers.after(BOTH, {})
    assert ground.servers.policies["r2"] == ground.condition
    # No policy outlives its record.
    assert readers.before_removal(BOTH, [OTHER]) is None
    assert ground.servers.policies == {}
    ground.write({})
    readers.after(BOTH, {})
    assert ground.servers.policies == {}
    assert readers.seen() == ((str(READING),), "", "")


def test_problems_refuse_the_group(ground: Ground) -> None:
    ground.write({DAY: record()})
    ground.servers.problems = {"r1": "an old analyzer"}
    readers = ground.readers("policy")
    refusal = readers.before_attach(BOTH, {}, ())
    assert refusal is not None
    # The record may go, as nothing was hidden because of it.
    assert readers.before_removal(BOTH, [DAY]) is None
    assert refusal.gate is GateName.READERS_READY
    ground.servers.problems = {}
    ground.servers.running["r2"] = {"query long": 1_000_000}
    readers = ground.readers()
    for refusal in (
        readers.before_attach(BOTH, {}, ()),
        readers.before_drop(BOTH, {}, ()),
    ):
        assert refusal is not None
        assert refusal.gate is GateName.READERS_DONE
    # Nothing follows that relies on what readers see.
    began = ground.hot.ensemble.clock.now()
    readers.after(BOTH, {})
    assert ground.hot.ensemble.clock.now() == began
    ground.write({})
    ground.servers.fails = True
    readers.after(BOTH, {})
    assert readers.seen().left == "the server is away"


def test_without_any_step_servers_are_not_asked(ground: Ground) -> None:
    readers = ground.readers()
    ground.servers.fails = True
    readers.after(BOTH, {})
    assert readers.seen() == ((), "", "")


def test_without_the_lease_no_policy_is_changed(ground: Ground) -> None:
    readers = ground.readers()
    ground.write({DAY: record()})
    ground.hot.commit([(SetData(ground.lease.epoch_path, b"", ground.lease.hot_epoch),)])
    with pytest.raises(LeaseLost):
        readers.before_attach(BOTH, {}, ())
    assert not ground.servers.acts


def test_a_repair_waits_for_readers_that_began_with_a_policy(ground: Ground) -> None:
    """Also if a killed repair has removed the policy already."""
    ground.write({DAY: record()})
    readers = ground.readers()
    assert readers.before_attach(BOTH, {DAY: record()}, ()) is None
    ground.write({DAY: record()._replace(repairing=True)})
    ground.servers.running["r2"] = {"a reader": 3}
    for again in (readers, ground.readers()):
        ground.servers.running["r2"] = {"a reader": 3}
        assert again.before_repair(BOTH) is None
        assert ground.servers.policies == {}
        assert ground.servers.running["r2"] == {}


def test_a_repair_does_not_begin_while_readers_last(ground: Ground) -> None:
    ground.write({DAY: record()._replace(repairing=True)})
    ground.servers.running["r1"] = {"a reader": 10_000}
    refusal = ground.readers().before_repair(BOTH)
    assert refusal is not None
    assert refusal.gate is GateName.READERS_DONE


def test_records_of_another_twin_let_no_policy_change(ground: Ground) -> None:
    """Neither may its rows be hidden in this twin, nor may its policy go."""
    other = record()._replace(cold="cold:/tables/01/hits_second")
    ground.write({DAY: other})
    ground.servers.left = (READING,)
    for tables in ((READING,), ()):
        ground.servers.tables = tables
        for option in ("auto", "none"):
            readers = ground.readers(option)
            refusals = [readers.before_attach(BOTH, {}, ()), readers.before_removal(BOTH, [OTHER])]
            for refusal in refusals:
                assert refusal is not None
                assert refusal.gate is GateName.TWIN_WHOLE
                assert f"partition {DAY}: its record is about a move between" in refusal.reason
            readers.after(BOTH, {})
            assert "its record is about a move between" in readers.seen().left
    assert not [each for each in ground.servers.acts if "Policy" in each]
    # Without a reading table or a policy, no reader is concerned.
    ground.servers.left = ()
    assert ground.readers().before_attach(BOTH, {}, ()) is None
