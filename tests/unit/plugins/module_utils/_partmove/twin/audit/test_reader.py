# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A look has the records from before and after, and says why where nobody could be asked."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import NoSuchTable
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.record import Records
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import Side
from support.memory.interleaving import Died, Script
from support.memory.twin_audits import SILENT, MemoryWitnesses, reader_of
from support.memory.twins import DAY, PATH, TwinBench, Twins


@pytest.fixture
def bench() -> TwinBench:
    return TwinBench(Twins(("a",), ("b", "c")))


def killed(bench: TwinBench, step: str) -> None:
    """Have a run that died at the first step that begins so."""
    trace = Script()
    TwinBench(Twins(("a",), ("b", "c"))).run(Side.COLD, trace)
    script = Script()
    number = next(number for number, each in enumerate(trace.trace) if each.startswith(step))
    script.actions[number] = script.die
    with pytest.raises(Died):
        bench.run(Side.COLD, script)
    bench.servers.script = Script()


def test_a_look_has_all_partitions_and_records(bench: TwinBench) -> None:
    killed(bench, "servers attach")
    look = reader_of(bench).read(PATH)
    assert set(look.partitions) == set(look.record_znodes) == {DAY}
    assert not look.partitions[DAY].changed
    assert len(look.partitions[DAY].parts) == 2


def test_a_look_at_some_has_these(bench: TwinBench) -> None:
    assert set(reader_of(bench).read(PATH, {"other", ""}).partitions) == {"other"}


def test_a_record_that_comes_meanwhile_is_noticed(bench: TwinBench) -> None:
    servers = MemoryWitnesses(bench.servers)

    class Busy(MemoryWitnesses):
        def inserted(self, tables):  # type: ignore[no-untyped-def]
            killed(bench, "servers attach")
            return {}

    assert not reader_of(bench, servers).read(PATH).partitions[DAY].changed
    assert reader_of(bench, Busy(bench.servers)).read(PATH).partitions[DAY].changed


def test_silent_servers_are_told(bench: TwinBench) -> None:
    servers = MemoryWitnesses(bench.servers)
    servers.silent = ["r2"]
    look = reader_of(bench, servers).read(PATH)
    assert look.silent == {"r2": f"{SILENT}."}
    assert not look.partitions
    servers.silent, servers.ceases = [], True
    assert reader_of(bench, servers).read(PATH).problem == f"{SILENT}."


def test_what_is_no_record_is_told_with_its_path(bench: TwinBench) -> None:
    path = Records(bench.hot.open(), "/partmove", PATH).path(DAY)
    bench._create(bench.hot.open(), path, b"something")
    znode = reader_of(bench).read(PATH).record_znodes[DAY]
    assert (znode.path, znode.record) == (path, None)
    assert path in znode.problem


def test_a_table_that_hot_has_not_is_read_for_its_records() -> None:
    bench = TwinBench(Twins())
    with pytest.raises(NoSuchTable):
        reader_of(bench).read("/gone")
    path = Records(bench.hot.open(), "/partmove", "/gone").path(DAY)
    bench._create(bench.hot.open(), path, b"something")
    look = reader_of(bench).read("/gone")
    assert look.is_gone
    assert set(look.record_znodes) == {DAY}
