# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One table: its znodes by kind and by replica, and partitions without parts."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.census.kind import ZnodeKind
from ansible_collections.olap.partmove.plugins.module_utils._partmove.census.table import TableCensus
from support.memory.censuses import DAY, NOW, SESSION, SHARD, ZnodeTree, plain_tree

R1 = f"{SHARD}/replicas/r1"


def table_of(tree: ZnodeTree) -> TableCensus:
    (table,) = tree.census().tables.values()
    return table


def kinds_of(tree: ZnodeTree) -> dict[ZnodeKind, int]:
    return {kind: counts.znodes for kind, counts in table_of(tree).kinds.items()}


@pytest.mark.parametrize(
    ("path", "owner", "kind"),
    [
        (f"{R1}/parts/20191202_0_0_0", 0, ZnodeKind.PART),
        (f"{R1}/parts/20191201_0_0_0/columns", 0, ZnodeKind.PART_CHILD),
        (f"{R1}/parts/20191201_0_0_0/x", 0, ZnodeKind.UNKNOWN),
        (f"{R1}/parts/20191201_0_0_0/columns/x", 0, ZnodeKind.UNKNOWN),
        (f"{R1}/queue/queue-0000000001", 0, ZnodeKind.QUEUE),
        (f"{R1}/queue/queue-0000000001/x", 0, ZnodeKind.UNKNOWN),
        (f"{R1}/flags/force_restore_data", 0, ZnodeKind.REPLICA),
        (f"{R1}/max_processed_insert_time", 0, ZnodeKind.REPLICA),
        (f"{R1}/new_thing", 0, ZnodeKind.UNKNOWN),
        (f"{R1}/host/x", 0, ZnodeKind.UNKNOWN),
        (f"{SHARD}/leader_election/leader_election-0000000001", SESSION, ZnodeKind.EPHEMERAL),
        (f"{SHARD}/block_numbers/20191201/block-0000000001", SESSION, ZnodeKind.EPHEMERAL),
        (f"{SHARD}/block_numbers/20191201/State", 0, ZnodeKind.STATE),
    ],
)
def test_a_znode_is_counted_in_its_kind(path: str, owner: int, kind: ZnodeKind) -> None:
    parent = path.rpartition("/")[0]
    before = kinds_of(plain_tree().add(parent))
    after = kinds_of(plain_tree().add(parent).add(path, owner=owner))
    grown = {each: count - before.get(each, 0) for each, count in after.items()}
    assert {each: count for each, count in grown.items() if count} == {kind: 1}


def test_znodes_of_a_replica_are_its_own() -> None:
    table = table_of(plain_tree().add_part("20191202_0_0_0", legacy=True))
    r1, r2 = table.replicas["r1"], table.replicas["r2"]
    assert r1.total.znodes - r2.total.znodes == 3
    assert r1.total.bytes - r2.total.bytes == sum(
        len(f"{R1}/parts/20191202_0_0_0{child}") + size
        for child, size in (("", 0), ("/columns", 4), ("/checksums", 4))
    )
    assert table.total.znodes == r1.total.znodes + r2.total.znodes + sum(
        counts.znodes for counts in table.own.values()
    )


def test_figures_of_a_replica() -> None:
    tree = plain_tree().add_replica("r3", active=False, days=9, pointer=17)
    tree.add(f"{SHARD}/replicas/r3/mutation_pointer", b"0000000004", days=8)
    tree.add(f"{SHARD}/replicas/r3/is_lost", b"1", days=1)
    tree.add(f"{SHARD}/replicas/r3/queue/queue-0000000001", days=12)
    replica = table_of(tree).replicas["r3"]
    assert (replica.has_session, replica.is_lost, replica.log_pointer) == (False, True, 17)
    assert (replica.mutation_pointer, replica.queued) == ("0000000004", 1)
    # Others write is_lost.
    assert (replica.last_change, replica.oldest_queued) == (NOW - 8 * DAY, NOW - 12 * DAY)
    assert table_of(tree).replicas["r1"].has_session


def test_a_persistent_is_active_is_no_session() -> None:
    tree = plain_tree().add_replica("r3", active=False).add(f"{SHARD}/replicas/r3/is_active")
    assert not table_of(tree).replicas["r3"].has_session


def test_invalid_pointers_count_as_absent() -> None:
    tree = plain_tree()
    for name, data in (("r1", b""), ("r2", b"\xff12")):
        tree.add(f"{SHARD}/replicas/{name}/log_pointer", data)
    assert [each.log_pointer for each in table_of(tree).replicas.values()] == [0, 0]


def test_partitions_with_a_part_of_any_replica_or_in_use_are_not_empty() -> None:
    tree = plain_tree().add_part("20191202_0_5_2_9", "r2")
    for partition in ("20191202", "20191203", "20191204", "20191205"):
        tree.add(f"{SHARD}/block_numbers/{partition}", days=40)
    tree.add(f"{SHARD}/block_numbers/20191203/State", b"COLD")
    tree.add(f"{SHARD}/block_numbers/20191204/block-0000000001", owner=SESSION)
    assert table_of(tree).partitions_without_part() == {"20191205": NOW - 40 * DAY}


def test_partitions_of_months_are_known_by_the_days_of_their_parts() -> None:
    tree = ZnodeTree().add_table(format_version=0).add_replica("r1").add_part("20191201_20191220_0_5_2")
    for partition in ("201912", "201911"):
        tree.add(f"{SHARD}/block_numbers/{partition}", days=40)
    assert table_of(tree).partitions_without_part().keys() == {"201911"}


def test_an_unknown_definition_yields_no_partitions() -> None:
    tree = (
        plain_tree().add(f"{SHARD}/block_numbers/20191205", days=40).add(f"{SHARD}/metadata", b"new format")
    )
    assert table_of(tree).partitions_without_part() == {}


def test_a_part_counted_after_settle_counts() -> None:
    census = plain_tree().add(f"{SHARD}/block_numbers/20191205", days=40).census()
    (table,) = census.tables.values()
    assert table.partitions_without_part().keys() == {"20191205"}
    census.take("/elsewhere", b"", (NOW, NOW), 0)
    census.take(f"{R1}/parts/20191205_0_0_0", b"", (NOW, NOW), 0)
    assert table.partitions_without_part() == {}
