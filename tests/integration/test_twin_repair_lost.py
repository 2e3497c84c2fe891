# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Repairs of twins that lack parts or znodes, on servers of a modern ClickHouse."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from support.ansible.twin_ledgers import LedgerGround
from support.ansible.twin_runs import DAY, NEXT
from support.servers.kazoo_client import connected
from support.servers.modern.server import ModernShard
from support.servers.zookeeper import Ensemble

pytestmark = [pytest.mark.ladder(real_only=True), pytest.mark.long(minutes=2)]

SOUND = {DAY: "cold", NEXT: "cold", "20240103": "hot"}


@pytest.fixture
def ground(modern: ModernShard, hot: Ensemble, base: str) -> LedgerGround:
    ground = LedgerGround(modern, hot, base)
    ground.fill()
    return ground


def test_parts_that_servers_moved_to_detached_are_attached(ground: LedgerGround) -> None:
    """A server writes a reason in front of the name, so a person has to rename the folder on one replica."""
    part = ground.first.parts(ground.cold)[0]
    ground.alter(ground.cold, f"DETACH PART '{part}'")
    for number in range(len(ground.shard.servers)):
        folder = ground.detached_folder(number)
        (folder / part).rename(folder / f"ignored_{part}")
    assert ground.kinds() == {**SOUND, DAY: "set_aside"}
    told = ground.repair("set_aside")
    assert (told["failed"], told["changed"], told["counts"]) == (False, False, {"repaired": 0, "left": 1})
    ground.rename_as_told(told)
    planned = ground.repair("set_aside", check=True)
    assert ground.ids(ground.cold)[0] == [3, 4]
    done = ground.repair("set_aside")
    assert done["repaired"] == planned["repaired"]
    assert done["statements"] == planned["statements"]
    assert done["repaired"][0]["rows_after"] == {"hot": 0, "cold": 3}
    assert ground.ids(ground.cold) == [[1, 2, 3, 4]] * 2
    assert ground.kinds() == SOUND
    # The ledger has the new block numbers: a merge is no loss.
    ground.first.execute(f"OPTIMIZE TABLE {ground.cold} FINAL", alter_sync=2)
    assert ground.kinds() == SOUND
    assert ground.repair("set_aside")["counts"] == {"repaired": 0, "left": 0}


@pytest.mark.parametrize("columns", [[], ["h", "side", "source"]], ids=["plain", "named"])
def test_parts_with_rows_that_the_table_has_are_detached_again(
    ground: LedgerGround, columns: Sequence[str]
) -> None:
    """Somebody has inserted the missing rows into the table from a backup."""
    for each in columns:
        for table in (ground.name, ground.cold):
            ground.alter(table, f"ADD COLUMN {each} UInt8")
    part = ground.first.parts(ground.cold)[0]
    ground.alter(ground.cold, f"DETACH PART '{part}'")
    ground.insert_into(ground.name, 1, 2)
    done = ground.repair("set_aside")
    assert done["left"][0]["reason"].startswith("the table has 2 rows of the parts in detached/")
    assert ground.ids(ground.cold) == [[3, 4]] * 2


def test_nothing_is_attached_that_could_not_be_compared(ground: LedgerGround) -> None:
    part = ground.first.parts(ground.cold)[0]
    for table in (ground.name, ground.cold):
        ground.alter(table, "ADD COLUMN _part String")
    ground.alter(ground.cold, f"DETACH PART '{part}'")
    done = ground.repair("set_aside")
    assert "the name of a virtual column of ClickHouse (_part)" in done["left"][0]["reason"]
    assert ground.ids(ground.cold) == [[3, 4]] * 2


def test_twin_whose_znodes_are_lost_is_restored(ground: LedgerGround, cold: Ensemble) -> None:
    ground.first.execute(f"OPTIMIZE TABLE {ground.cold} PARTITION ID '{DAY}' FINAL", alter_sync=2)
    with connected(cold.connect_string) as client:
        client.delete(f"{ground.path}_cold", recursive=True)
    assert ground.kinds() == {**SOUND, "r1": "not_ready", "r2": "not_ready"}
    planned = ground.repair("not_ready", check=True)
    assert ground.kinds() == {**SOUND, "r1": "not_ready", "r2": "not_ready"}
    done = ground.repair("not_ready")
    assert done["counts"] == planned["counts"] == {"repaired": 1, "left": 0}, done
    assert done["statements"] == planned["statements"]
    assert ground.ids(ground.cold) == [[1, 2, 3, 4]] * 2
    # Without the new block numbers in the ledger the merged partition would be lost.
    assert ground.kinds() == SOUND
    assert ground.move_days(DAY, state="hot")["counts"]["moved"] == 1
    assert ground.ids(ground.name) == [[1, 2, 3, 5]] * 2


def test_user_whom_servers_refuse_is_an_error(ground: LedgerGround) -> None:
    clickhouse = {"endpoints": ground.shard.endpoints, "user": "nobody", "password": "x"}
    refused = ground.repair("unknown", clickhouse=clickhouse)
    assert refused["failed"]
    assert "refuses the user nobody" in refused["msg"]
    assert "Check the user, its password" in refused["msg"]
