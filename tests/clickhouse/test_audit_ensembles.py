# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What an audit says when an ensemble was lost, or put back from a backup."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.audit.kind import Kind
from support.servers.clickhouse import ClickHouseCluster, ServerOptions, ZooKeeperSource, cluster
from support.servers.kazoo_client import connected
from support.servers.leftovers.ground import DAY, OTHER, PART, Ground, both, filled, kinds_of
from support.servers.moving import Mover, open_stores
from support.servers.registered import Registry
from support.servers.replicated import WITHOUT_MERGES, ReplicatedTable, wait_for
from support.servers.zookeeper import Ensemble, Member

THIRD = "20191203"

pytestmark = [pytest.mark.clickhouse, pytest.mark.long(minutes=2)]


@dataclass(frozen=True)
class Field:
    """Ensembles and servers of one test, with a table."""

    hot: Ensemble
    cold: Ensemble
    servers: ClickHouseCluster
    table: ReplicatedTable

    @contextmanager
    def ground(self) -> Iterator[Ground]:
        """The ground, with new sessions: a client refuses an ensemble that knows less than it has seen."""
        hosts = self.hot.connect_string, self.cold.connect_string
        with open_stores(*hosts) as stores, connected(hosts[0]) as hot, connected(hosts[1]) as cold:
            yield Ground(self.table, Mover(*stores), Registry(hot, cold), hosts)

    def backup(self, ensemble: Ensemble) -> None:
        """Keep the files that an ensemble has now."""
        # Or the znodes of their sessions would be in there, and keep them waiting after it was put back.
        self._stop_servers()
        ensemble.stop()
        for member in ensemble.members:
            shutil.copytree(_files_of(member), _backup_of(member))
        ensemble.start()
        self.restart_servers()

    def restore(self, ensemble: Ensemble) -> None:
        """Put the files back that were kept, or none where none were."""
        ensemble.stop()
        for member in ensemble.members:
            shutil.rmtree(_files_of(member))
            if _backup_of(member).exists():
                shutil.copytree(_backup_of(member), _files_of(member))
        ensemble.start()

    def restart_servers(self) -> None:
        """Stop and start all of them, and wait until their tables are writable."""
        self._stop_servers()
        for server in self.servers.servers:
            server.start()
        wait_for(lambda: all(self._is_writable(number) for number in (0, 1)))

    def _is_writable(self, number: int) -> bool:
        question = f"SELECT is_readonly FROM system.replicas WHERE table = '{self.table.name}'"
        return self.table.servers[number].query(question) == [(0,)]

    def _stop_servers(self) -> None:
        for server in self.servers.servers:
            server.stop()


def _files_of(member: Member) -> Path:
    return member.data_dir / "version-2"


def _backup_of(member: Member) -> Path:
    return member.data_dir.with_name("backup")


@pytest.fixture
def field(clickhouse: str, tmp_path: Path) -> Iterator[Field]:
    """A table as `filled` has it, on patched servers."""
    with Ensemble(tmp_path / "hot") as hot, Ensemble(tmp_path / "cold") as cold:
        options = ServerOptions(
            program=clickhouse, patched=True, cold=ZooKeeperSource(cold.connect_string, session_ms=5000)
        )
        source = ZooKeeperSource(hot.connect_string, session_ms=5000)
        with cluster(tmp_path, source, options=options) as servers:
            table = ReplicatedTable("t", "/tables/t", servers.servers).create(WITHOUT_MERGES)
            yield Field(hot, cold, servers, filled(table))


def test_cold_was_emptied(field: Field) -> None:
    with field.ground() as ground:
        ground.move(DAY)
    rows = field.table.rows()
    field.restore(field.cold)

    with field.ground() as ground:
        assert kinds_of(ground.audit()) == {DAY: both(Kind.COLD_UNKNOWN), OTHER: both(Kind.HOT)}

    field.restart_servers()
    assert [field.table.detached(number) for number in (0, 1)] == [[f"ignored_{PART}"]] * 2
    assert len(field.table.rows()) == len(rows) - 3


def test_cold_was_put_back_from_before_the_first_move(field: Field) -> None:
    field.backup(field.cold)
    with field.ground() as ground:
        ground.move(DAY)
    field.restore(field.cold)

    with field.ground() as ground:
        assert kinds_of(ground.audit()) == {DAY: both(Kind.COLD_UNKNOWN), OTHER: both(Kind.HOT)}


def test_cold_was_put_back_from_before_a_later_move(field: Field) -> None:
    field.table.fill(["2019-12-03"], rows=30)
    field.table.settle()
    with field.ground() as ground:
        ground.move(OTHER)
    field.backup(field.cold)
    with field.ground() as ground:
        ground.move(DAY)
    field.restore(field.cold)

    with field.ground() as ground:
        assert kinds_of(ground.audit()) == {
            DAY: both(Kind.UNREGISTERED),
            OTHER: both(Kind.COLD),
            THIRD: both(Kind.HOT),
        }


def test_hot_was_put_back_from_before_the_move(field: Field) -> None:
    """It registers everything, and has no State; what was copied is still in cold, below the marker."""
    field.backup(field.hot)
    with field.ground() as ground:
        ground.move(DAY)
    before = field.table.seen()
    field.restore(field.hot)
    field.restart_servers()

    with field.ground() as ground:
        assert kinds_of(ground.audit()) == {DAY: both(Kind.COPIES_LEFT), OTHER: both(Kind.HOT)}
    assert field.table.seen() == before


def test_hot_was_put_back_from_before_the_way_back(field: Field) -> None:
    """State is COLD again, and so is the partition: its copies were not removed."""
    with field.ground() as ground:
        ground.move(DAY)
    field.backup(field.hot)
    with field.ground() as ground:
        ground.reheat(DAY)
    field.restore(field.hot)
    field.restart_servers()

    with field.ground() as ground:
        assert kinds_of(ground.audit()) == {DAY: both(Kind.COLD), OTHER: both(Kind.HOT)}


def test_hot_was_put_back_from_before_copies_were_removed(field: Field) -> None:
    """The parts were registered in cold alone then, and cold has them no more."""
    with field.ground() as ground:
        ground.move(DAY)
    field.backup(field.hot)
    with field.ground() as ground:
        ground.reheat(DAY)
        ground.mover.seconds_ahead = 700.0
        assert ground.mover.reheat(field.table).copies_removed == {DAY}
    field.restore(field.hot)

    with field.ground() as ground:
        assert kinds_of(ground.audit()) == {DAY: both(Kind.UNREGISTERED), OTHER: both(Kind.HOT)}
