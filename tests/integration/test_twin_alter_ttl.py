# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Audits follow a TTL that twin_alter changes: what the TTL drops is no loss, and all else is."""

from __future__ import annotations

import pytest

from support.ansible.dying_servers import run_until_killed
from support.ansible.twin_alters import Altered, DyingAlters
from support.ansible.twin_runs import DAY
from support.servers.modern.server import ModernShard
from support.servers.replicated import wait_for
from support.servers.zookeeper import Ensemble

pytestmark = [pytest.mark.ladder, pytest.mark.long(minutes=2)]

KEEP, EXPIRE = "MODIFY TTL day + INTERVAL 50 YEAR", "MODIFY TTL day + INTERVAL 1 DAY"
IN_2074, EXPIRED, NEVER = {DAY: [3281990400]}, {DAY: [1704153600]}, {DAY: [0]}


@pytest.fixture
def altered(modern: ModernShard, hot: Ensemble, base: str) -> Altered:
    """Servers that remove parts without rows soon."""
    altered = Altered(modern, hot, base)
    for server in altered.shard.servers:
        for table in (altered.name, altered.cold):
            server.execute(f"ALTER TABLE {table} MODIFY SETTING old_parts_lifetime = 1")
    assert altered.expiries() == NEVER
    return altered


def wait_until_dropped(altered: Altered) -> None:
    """Until the servers have dropped all rows of the twin, and where they do the parts."""
    # chDB removes no parts by itself.
    counted = "sum(rows)" if altered.first.runs_one_statement else "count()"
    gone = f"SELECT {counted} = 0 FROM system.parts WHERE active AND table = '{altered.cold}'"
    wait_for(lambda: all(server.value(gone) == 1 for server in altered.shard.servers))


def lost(altered: Altered) -> list[str]:
    return sorted(partition for partition, kind in altered.kinds().items() if kind == "lost")


def check_dropped(altered: Altered) -> None:
    """Nothing is lost where servers show what an audit needs for retention."""
    columns = "SELECT count() FROM system.columns WHERE database = 'system' AND table = 'zookeeper'"
    if altered.first.value(f"{columns} AND name = 'zookeeperName'"):
        assert lost(altered) == []
    elif not altered.first.runs_one_statement:
        assert lost(altered) == [DAY]


def test_times_in_the_ledger_follow_the_ttl(altered: Altered) -> None:
    for text, times in (
        (KEEP, IN_2074),
        ("MODIFY TTL day + INTERVAL 40 YEAR WHERE id = 1", NEVER),
        (KEEP, IN_2074),
        ("MATERIALIZE TTL", IN_2074),
        ("UPDATE v = v + 1 WHERE 1", IN_2074),
        ("REMOVE TTL", NEVER),
    ):
        answer = altered.alter(text)
        assert not answer["failed"], answer
        assert altered.expiries() == times, text
    assert altered.kinds() == {}


def test_what_a_new_ttl_drops_is_no_loss(altered: Altered) -> None:
    assert altered.alter(KEEP)["changed"]
    answer = altered.alter(EXPIRE)
    assert not answer["failed"], answer
    wait_until_dropped(altered)
    assert altered.expiries() == EXPIRED
    check_dropped(altered)


@pytest.mark.parametrize("given", [False, True])
@pytest.mark.parametrize("statements", [0, 1])
def test_what_a_new_ttl_of_a_killed_run_drops_is_no_loss(
    altered: Altered, statements: int, given: bool
) -> None:
    run_until_killed(lambda: altered.alter_here(EXPIRE, DyingAlters(altered, statements, given=given)))
    if statements and given:
        wait_until_dropped(altered)
        check_dropped(altered)
    else:
        assert lost(altered) == []
    answer = altered.alter()
    assert not answer["failed"], answer
    wait_until_dropped(altered)
    assert altered.expiries() == EXPIRED
    check_dropped(altered)


def test_a_new_ttl_explains_no_loss_from_before(altered: Altered) -> None:
    altered.first.execute(f"ALTER TABLE {altered.cold} DROP PARTITION ID '{DAY}'", alter_sync=2)
    assert lost(altered) == [DAY]
    answer = altered.alter(EXPIRE)
    assert not answer["failed"], answer
    assert (altered.expiries(), lost(altered)) == (NEVER, [DAY])


def test_a_later_ttl_explains_no_loss_from_before_its_end(altered: Altered) -> None:
    assert altered.alter(KEEP)["changed"]
    altered.first.execute(f"ALTER TABLE {altered.cold} DROP PARTITION ID '{DAY}'", alter_sync=2)
    assert lost(altered) == [DAY]


@pytest.mark.parametrize("kind", ["Date", "Date32", "DateTime", "DateTime64(3)"])
def test_each_type_of_a_ttl_is_understood(altered: Altered, kind: str) -> None:
    if kind not in ("Date", "DateTime") and not altered.first.is_at_least(25, 1):
        pytest.skip(f"{altered.first.options.version} has no TTL of the type {kind}")
    answer = altered.alter(f"ADD COLUMN at {kind} DEFAULT toDate('2074-01-01')")
    assert not answer["failed"], answer
    answer = altered.alter("MODIFY TTL at")
    assert not answer["failed"], answer
    assert altered.expiries() == IN_2074


def test_a_part_that_a_delete_empties_is_no_loss(altered: Altered) -> None:
    """The twin has two parts of the partition if it got them one after the other."""
    altered.insert_into(altered.name, 7)
    assert altered.moved()["counts"]["moved"] == 1
    assert len(altered.first.parts(altered.cold)) == 2
    answer = altered.alter("DELETE WHERE id = 7")
    assert not answer["failed"], answer
    if not altered.first.runs_one_statement:
        active = f"SELECT count() = 1 FROM system.parts WHERE active AND table = '{altered.cold}'"
        wait_for(lambda: all(server.value(active) == 1 for server in altered.shard.servers))
    assert altered.kinds() == {}
    altered.first.execute(f"ALTER TABLE {altered.cold} DROP PARTITION ID '{DAY}'", alter_sync=2)
    assert lost(altered) == [DAY]
