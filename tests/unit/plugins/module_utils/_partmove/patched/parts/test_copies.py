# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Copies in the cold ensemble, and their comparison with what they were made from."""

from __future__ import annotations

from collections.abc import Collection

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import LeaseLost
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.names import GateName
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.parts.leased_shard import (
    LeasedEnsemble,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import Delete
from support.memory.arrange import Arrange, create, create_cold
from support.memory.bench import DAY, OTHER, PART, PATH
from support.memory.copying import Copying
from support.memory.tables import TableOptions


@pytest.mark.parametrize("legacy", [False, True])
def test_copies_are_equal_byte_for_byte(legacy: bool) -> None:
    copying = Copying(TableOptions(partitions=(DAY, OTHER), legacy=legacy))

    copying.make(DAY)

    assert copying.parts() == copying.originals(DAY)
    assert len(copying.parts()) == (6 if legacy else 2)


def test_copies_that_are_there_are_not_written_again() -> None:
    copying = Copying()
    copying.make(DAY)
    before = copying.bench.cold_ensemble.tree()

    copying.make(DAY)

    assert copying.bench.cold_ensemble.tree() == before


@pytest.mark.parametrize(
    "arrange",
    [
        create_cold(f"replicas/r1/parts/{PART}", b"stale"),
        create_cold(f"replicas/r1/parts/{PART}/columns", b"stale"),
        create_cold(f"replicas/r2/parts/{DAY}_0_3_2", b"dropped"),
    ],
    ids=["other bytes", "other children", "a part that hot does not have"],
)
def test_hot_is_authoritative(arrange: Arrange) -> None:
    copying = Copying()
    arrange(copying.bench)

    copying.make(DAY)

    assert copying.parts() == copying.originals(DAY)


def test_a_folder_that_goes_once_it_was_listed_is_made_again() -> None:
    """Folders that existed at the read are not read again, because they are hardly ever deleted."""
    copying = Copying()
    copying.make(DAY)
    copying.remove(DAY)
    shard, found = copying.read([OTHER])
    copying.bench.cold_store.commit([(Delete(f"{PATH}/replicas/r1/parts", 0),)])

    copying.copies.make(shard, list(found.values()))

    assert copying.parts() == copying.originals(OTHER)


@pytest.mark.parametrize("is_there", [False, True])
def test_existing_folders_are_not_read_again(is_there: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    copying = Copying()
    if is_there:
        copying.make(DAY)
    shard, found = copying.read([OTHER])
    looked: list[Collection[str]] = []
    ensure = LeasedEnsemble.ensure

    def ensure_and_tell(ensemble: LeasedEnsemble, paths: Collection[str]) -> None:
        looked.append(paths)
        ensure(ensemble, paths)

    monkeypatch.setattr(LeasedEnsemble, "ensure", ensure_and_tell)

    copying.copies.make(shard, list(found.values()))

    assert bool(looked) is not is_there
    assert copying.originals(OTHER).items() <= copying.parts().items()


def test_copies_are_removed_where_hot_registers_the_parts() -> None:
    copying = Copying()
    copying.make(DAY, OTHER)

    assert copying.remove(DAY) == {DAY}
    assert copying.parts() == copying.originals(OTHER)
    assert copying.remove(DAY) == set()


def test_copies_of_parts_that_were_replaced_are_removed() -> None:
    copying = Copying()
    copying.make(DAY)
    copying.bench.servers.assign_merge(DAY)
    copying.bench.servers.catch_up()
    copying.created.clear()

    assert copying.remove(DAY) == {DAY}
    assert copying.parts() == {}


def test_what_hot_knows_nothing_of_is_removed_by_its_maker_only() -> None:
    copying = Copying()
    copying.make(DAY, OTHER)
    copying.bench.servers.drop(DAY)
    copying.bench.servers.drop(OTHER)
    for path in [path for path, name in copying.created.items() if name.partition_id == OTHER]:
        del copying.created[path]

    assert copying.remove(DAY, OTHER) == {DAY}
    assert {path.split("/")[2] for path in copying.parts()} == {f"{OTHER}_0_0_0"}


def test_nothing_of_a_cold_partition_is_removed() -> None:
    copying = Copying()
    copying.make(DAY)
    create(f"block_numbers/{DAY}/State", b"COLD")(copying.bench)

    assert copying.remove(DAY) == set()
    assert copying.parts() == copying.originals(DAY)


@pytest.mark.parametrize(
    ("seconds", "stopped", "removed"), [(599, False, set()), (600, False, {DAY}), (600, True, set())]
)
def test_copies_of_a_partition_that_was_cold_wait_for_servers_that_start(
    seconds: int, stopped: bool, removed: set[str]
) -> None:
    copying = Copying()
    copying.make(DAY)
    create(f"block_numbers/{DAY}/State", b"COLD")(copying.bench)
    copying.bench.hot.set(f"{PATH}/block_numbers/{DAY}/State", b"HOT")
    copying.later(seconds)
    if stopped:
        copying.bench.servers.stop()

    assert copying.remove(DAY) == removed


def test_a_run_that_lost_its_lease_writes_and_deletes_nothing() -> None:
    copying = Copying()
    copying.make(DAY)
    copying.bench.context.leases.acquire(PATH)
    before = copying.parts()

    with pytest.raises(LeaseLost):
        copying.make(OTHER)
    with pytest.raises(LeaseLost):
        copying.remove(DAY)
    with pytest.raises(LeaseLost):
        copying.copies.remove_own([DAY])
    assert copying.parts() == before


def test_what_a_run_created_is_removed() -> None:
    copying = Copying()
    create_cold(f"replicas/r1/parts/{PART}")(copying.bench)
    copying.make(DAY, OTHER)

    copying.copies.remove_own([DAY])

    assert copying.parts().keys() == {
        f"r1/parts/{PART}",
        f"r1/parts/{OTHER}_0_0_0",
        f"r2/parts/{OTHER}_0_0_0",
    }


def test_copies_of_what_was_brought_back_stay_while_a_member_of_hot_lags(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A server that reads from that member does not find the parts in hot yet."""
    copying, behind = Copying(), Copying()
    for each in (copying, behind):
        each.make(DAY)
        create(f"block_numbers/{DAY}/State", b"COLD")(each.bench)
    copying.bench.hot.set(f"{PATH}/block_numbers/{DAY}/State", b"HOT")
    copying.later(600)
    members = [copying.bench.hot_store, behind.bench.hot_store]
    monkeypatch.setattr(copying.bench.hot_store, "members", lambda: members)

    kept = copying.copies.remove_unneeded([DAY])

    assert kept.gone == set()
    assert kept.behind[DAY].gate is GateName.HOT_MEMBERS
    assert copying.parts() == copying.originals(DAY)
    members.pop()
    assert copying.remove(DAY) == {DAY}
