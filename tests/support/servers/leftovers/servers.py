# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Scenes in which servers are stopped, or lose their session with cold."""

from __future__ import annotations

import shutil

from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.kind import FindingKind
from support.servers.clickhouse import ZooKeeperSource
from support.servers.leftovers.ground import DAY, OTHER, PART, Ground, Scene, both
from support.servers.proxy import ZooKeeperProxy


def dropped_after_the_session_with_cold_was_lost(ground: Ground) -> None:
    """Servers do not renew it, and what they could not remove stays."""
    _drop_without_cold(ground, (0, 1))
    assert ground.registry.of(ground.table, DAY) == ({}, {"r1": [PART], "r2": [PART]})


def dropped_after_one_session_with_cold_was_lost(ground: Ground) -> None:
    """The other server removed its own."""
    _drop_without_cold(ground, (1,))
    assert ground.registry.of(ground.table, DAY) == ({}, {"r2": [PART]})


def detached_after_the_session_with_cold_was_lost(ground: Ground) -> None:
    """The folders are in detached under their own names, and cold has what it had."""
    _without_cold(ground, (0, 1), "DETACH")
    assert [ground.table.detached(number) for number in (0, 1)] == [[PART], [PART]]


def attached_after_the_session_with_cold_was_lost(ground: Ground) -> None:
    """What one server attaches the other one fetches; its own folder stays in detached."""
    detached_after_the_session_with_cold_was_lost(ground)
    _attach(ground, 0)
    assert [ground.table.detached(number) for number in (0, 1)] == [[], [PART]]
    assert [len(ground.table.rows(number)) for number in (0, 1)] == [33, 33]


def detached_where_one_disk_had_lost_it(ground: Ground) -> None:
    """The one folder is that of r1, and what is attached on r2 is nothing."""
    lost_from_one_disk(ground)
    ground.table.settle()
    ground.execute(f"ALTER TABLE {{}} DETACH PARTITION {DAY}")
    _attach(ground, 1)
    assert [ground.table.detached(number) for number in (0, 1)] == [[PART], []]
    assert [len(ground.table.rows(number)) for number in (0, 1)] == [30, 30]


def attached_where_the_disk_had_it(ground: Ground) -> None:
    """Then it is there on both."""
    detached_where_one_disk_had_lost_it(ground)
    _attach(ground, 0)
    assert [len(ground.table.rows(number)) for number in (0, 1)] == [33, 33]


def lost_from_one_disk(ground: Ground) -> None:
    """While it was cold."""
    ground.move(DAY)
    second = ground.table.servers[1]
    second.stop()
    shutil.rmtree(ground.table.folder(1) / PART)
    second.start()


def lost_from_both_disks(ground: Ground) -> None:
    """While it was cold."""
    ground.move(DAY)
    for number, server in enumerate(ground.table.servers):
        server.stop()
        shutil.rmtree(ground.table.folder(number) / PART)
        server.start()


def stopped(ground: Ground) -> None:
    """One of the servers, with one partition cold."""
    ground.move(DAY)
    ground.table.servers[1].stop()


def _attach(ground: Ground, server: int) -> None:
    ground.execute(f"ALTER TABLE {{}} ATTACH PARTITION {DAY}", server)
    ground.table.settle()


def _drop_without_cold(ground: Ground, servers: tuple[int, ...]) -> None:
    _without_cold(ground, servers, "DROP")


def _without_cold(ground: Ground, servers: tuple[int, ...], verb: str) -> None:
    """Drop or detach the partition after some of the servers lost their session with cold."""
    with ZooKeeperProxy(ground.hosts[1].split(",")[0]) as proxy:
        for number in servers:
            ground.table.servers[number].restart_patched(ZooKeeperSource(proxy.address))
        ground.table.settle()
        ground.move(DAY)
        # ClickHouse gives a session up as soon as its connection breaks.
        proxy.disconnect()
        ground.execute(f"ALTER TABLE {{}} {verb} PARTITION {DAY}")


_HOT = both(FindingKind.HOT)
_SILENT = {"r1": FindingKind.HOT, "r2": FindingKind.NOT_JUDGED}

SCENES = (
    Scene(dropped_after_the_session_with_cold_was_lost, {DAY: both(FindingKind.GHOST), OTHER: _HOT}),
    Scene(
        dropped_after_one_session_with_cold_was_lost,
        {DAY: {"r1": FindingKind.EMPTY, "r2": FindingKind.GHOST}, OTHER: _HOT},
    ),
    Scene(detached_after_the_session_with_cold_was_lost, {DAY: both(FindingKind.GHOST), OTHER: _HOT}),
    Scene(attached_after_the_session_with_cold_was_lost, {DAY: both(FindingKind.GHOST), OTHER: _HOT}),
    Scene(
        detached_where_one_disk_had_lost_it,
        {DAY: {"r1": FindingKind.EMPTY, "r2": FindingKind.GHOST}, OTHER: _HOT},
    ),
    Scene(
        attached_where_the_disk_had_it,
        {DAY: both(FindingKind.GHOST), OTHER: _HOT},
    ),
    Scene(
        lost_from_one_disk,
        {DAY: {"r1": FindingKind.COLD, "r2": FindingKind.LACKS_DATA}, OTHER: _HOT},
        left=frozenset({FindingKind.LACKS_DATA}),
    ),
    Scene(lost_from_both_disks, {DAY: both(FindingKind.GHOST), OTHER: _HOT}),
    # A server that is down keeps everything as it is.
    Scene(
        stopped,
        {DAY: {"r1": FindingKind.COLD, "r2": FindingKind.NOT_JUDGED}, OTHER: _SILENT},
        is_repaired=False,
    ),
)
