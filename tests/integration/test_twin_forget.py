# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What FORGET PARTITION does to a partition that went to a twin, on real servers: why no run executes it."""

from __future__ import annotations

import uuid

import pytest

from support.ansible.twin_runs import DAY, ModernTables
from support.servers.kazoo_client import connected
from support.servers.modern.server import ModernShard
from support.servers.replicated import wait_for
from support.servers.sql_server import QueryError
from support.servers.zookeeper import Ensemble

pytestmark = pytest.mark.ladder

_SINCE = (24, 2)
_CLEANUP = ("cleanup_delay_period = 1", "cleanup_delay_period_random_add = 0", "max_cleanup_delay_period = 1")


class Forgotten(ModernTables):
    """A table whose only partition was updated, and went to its twin."""

    def __init__(self, shard: ModernShard, hot: Ensemble, base: str) -> None:
        super().__init__(shard, hot, base)
        self.name = f"t_{uuid.uuid4().hex[:8]}"
        self.path = self.shard_path(self.name)
        for name, path in ((self.name, self.path), (f"{self.name}_cold", f"cold:{self.path}_cold")):
            shard.execute(self.definition(name, path, "(day Date, id UInt32, v UInt8)"))
        # Mutations are carried out, and outdated parts are removed at once, and not after 8 minutes.
        settings = ("max_replicated_merges_in_queue = 16", "old_parts_lifetime = 1", *_CLEANUP)
        for name in (self.name, f"{self.name}_cold"):
            shard.execute(f"ALTER TABLE {name} MODIFY SETTING {', '.join(settings)}")
        self.insert(1)
        self.first.execute(f"ALTER TABLE {self.name} UPDATE v = v + 1 WHERE 1", mutations_sync=2)

    def insert(self, *numbers: int) -> None:
        """Insert rows with the value 0."""
        rows = ", ".join(f"('{DAY}', {number}, 0)" for number in numbers)
        self.first.execute(f"INSERT INTO {self.name} VALUES {rows}")

    def go_cold(self) -> None:
        """Move the partition to the twin."""
        answer = self.move(partitions=[{"shard_path": self.path, "partition": DAY}])
        assert answer["counts"]["moved"] == 1, answer

    def forget(self) -> None:
        """Execute FORGET PARTITION on the table."""
        self.first.execute(f"ALTER TABLE {self.name} FORGET PARTITION ID '{DAY}'")

    def is_forgotten(self) -> bool:
        """Whether the server no longer refuses to forget the partition."""
        try:
            self.forget()
        except QueryError as error:
            if "is not empty" not in str(error):
                raise
            return False
        return True

    @property
    def numbers(self) -> list[str]:
        """The partitions that have block numbers in the hot ensemble."""
        with connected(self.hot.connect_string) as client:
            return sorted(client.get_children(f"{self.path}/block_numbers"))

    @property
    def rows(self) -> list[tuple[int, int]]:
        """Numbers and values of the table, as a replica has them once it did all that is queued."""
        self.first.execute(f"SYSTEM SYNC REPLICA {self.name}")
        return self.first.query(f"SELECT id, v FROM {self.name} ORDER BY id")


@pytest.fixture
def forgotten(modern: ModernShard, hot: Ensemble, base: str) -> Forgotten:
    if not modern.servers[0].is_at_least(*_SINCE):
        pytest.skip("the version does not know FORGET PARTITION")
    return Forgotten(modern, hot, base)


def test_a_partition_is_forgotten_only_once_its_outdated_parts_are_gone(forgotten: Forgotten) -> None:
    with pytest.raises(QueryError, match=r"Partition \d+ is not empty"):
        forgotten.forget()
    forgotten.go_cold()
    assert forgotten.numbers == [DAY]
    wait_for(forgotten.is_forgotten)
    assert forgotten.numbers == []


def test_a_finished_mutation_changes_rows_that_are_inserted_after_it(forgotten: Forgotten) -> None:
    """Block numbers begin anew, below the number of the mutation."""
    forgotten.go_cold()
    wait_for(forgotten.is_forgotten)
    forgotten.insert(2)
    wait_for(lambda: forgotten.rows == [(2, 1)], told=lambda: forgotten.rows)


def test_no_row_is_changed_by_an_earlier_mutation_while_block_numbers_stay(forgotten: Forgotten) -> None:
    forgotten.go_cold()
    forgotten.insert(2)
    # A mutation is done after all earlier ones.
    forgotten.first.execute(f"ALTER TABLE {forgotten.name} UPDATE v = v WHERE 1", mutations_sync=2)
    assert forgotten.rows == [(2, 0)]
