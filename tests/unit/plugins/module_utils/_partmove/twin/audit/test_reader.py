# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A read has the records from before and after the servers, and the reasons of failures."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import FormatError, NoSuchTable
from ansible_collections.olap.partmove.plugins.module_utils._partmove.lease.bars import Bar, Hold, path_of_bar
from ansible_collections.olap.partmove.plugins.module_utils._partmove.lease.lease import path_of_lock
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.record import Records
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import Side
from support.memory.interleaving import Died, Script
from support.memory.twin_audits import SILENT, MemoryWitnesses, reader_of
from support.memory.twins import DAY, PATH, TwinBench, Twins


@pytest.fixture
def bench() -> TwinBench:
    return TwinBench(Twins(("a",), ("b", "c")))


def killed(bench: TwinBench, step: str) -> None:
    """Kill a run at the first step with this beginning."""
    trace = Script()
    TwinBench(Twins(("a",), ("b", "c"))).run(Side.COLD, trace)
    script = Script()
    number = next(number for number, each in enumerate(trace.trace) if each.startswith(step))
    script.actions[number] = script.die
    with pytest.raises(Died):
        bench.run(Side.COLD, script)
    bench.servers.script = Script()


def test_a_read_has_all_partitions_and_records(bench: TwinBench) -> None:
    killed(bench, "servers attach")
    read = reader_of(bench).read(PATH)
    assert set(read.partitions) == set(read.record_znodes) == {DAY}
    assert not read.partitions[DAY].changed
    assert len(read.partitions[DAY].parts) == 2


def test_a_read_of_some_partitions_has_only_these(bench: TwinBench) -> None:
    assert set(reader_of(bench).read(PATH, {"other", ""}).partitions) == {"other"}


def test_a_record_created_during_the_read_is_noticed(bench: TwinBench) -> None:
    servers = MemoryWitnesses(bench.servers)

    class Busy(MemoryWitnesses):
        def inserted(self, tables):  # type: ignore[no-untyped-def]
            killed(bench, "servers attach")
            return {}

    assert not reader_of(bench, servers).read(PATH).partitions[DAY].changed
    assert reader_of(bench, Busy(bench.servers)).read(PATH).partitions[DAY].changed


def test_silent_servers_are_listed_with_the_reason(bench: TwinBench) -> None:
    servers = MemoryWitnesses(bench.servers)
    servers.silent = ["r2"]
    read = reader_of(bench, servers).read(PATH)
    assert read.silent == {"r2": f"{SILENT}."}
    assert not read.partitions
    servers.silent, servers.ceases = [], True
    assert reader_of(bench, servers).read(PATH).problem == f"{SILENT}."


def test_an_invalid_record_is_reported_with_its_path(bench: TwinBench) -> None:
    path = Records(bench.hot.open(), "/partmove", PATH).path(DAY)
    bench._create(bench.hot.open(), path, b"something")
    znode = reader_of(bench).read(PATH).record_znodes[DAY]
    assert (znode.path, znode.record) == (path, None)
    assert path in znode.problem


def test_records_are_read_without_a_table_in_hot() -> None:
    bench = TwinBench(Twins())
    with pytest.raises(NoSuchTable):
        reader_of(bench).read("/gone")
    path = Records(bench.hot.open(), "/partmove", "/gone").path(DAY)
    bench._create(bench.hot.open(), path, b"something")
    read = reader_of(bench).read("/gone")
    assert read.is_gone
    assert set(read.record_znodes) == {DAY}


def test_a_read_has_the_hold_and_the_unfinished_statement(bench: TwinBench) -> None:
    read = reader_of(bench).read(PATH)
    assert (read.hold, read.alter) == (None, None)
    store, hold = bench.hot.open(), Hold("me", "a migration", 5)
    bench._create(store, path_of_bar("/partmove", Bar.HOLD, PATH), hold.data)
    alter = path_of_bar("/partmove", Bar.ALTER, PATH)
    bench._create(store, alter, b"anything")
    read = reader_of(bench).read(PATH)
    (znode,) = store.read([alter])
    assert znode is not None
    assert (read.hold, read.alter) == (hold, (alter, znode.stat.ctime, False))
    bench._create(store, path_of_lock("/partmove", PATH), b"a run")
    read = reader_of(bench).read(PATH)
    assert read.alter is not None
    assert read.alter.is_in_progress


def test_a_hold_that_no_run_can_read_ends_the_read(bench: TwinBench) -> None:
    bench._create(bench.hot.open(), path_of_bar("/partmove", Bar.HOLD, PATH), b"mine")
    with pytest.raises(FormatError, match="holds"):
        reader_of(bench).read(PATH)
