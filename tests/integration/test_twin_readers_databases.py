# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Tables of the same name in several databases of a server: each row policy belongs to one pair."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any, NamedTuple

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.sql import identifier
from support.ansible.calls import Call, run_modules
from support.ansible.dying_servers import Killed
from support.ansible.read_tables import DyingParts, DyingReaders, Read, policies_on, remove_database
from support.ansible.twin_runs import DAY
from support.servers.modern.server import ModernShard
from support.servers.zookeeper import Ensemble

pytestmark = [pytest.mark.ladder, pytest.mark.long(minutes=1)]

ROWS = [[1, 2, 3, 4]] * 2


class Tenants(NamedTuple):
    """Two databases with the same tables."""

    a: Read
    b: Read


@pytest.fixture
def tenants(real_version: str, modern: ModernShard, hot: Ensemble, base: str) -> Iterator[Tenants]:
    del real_version  # Users of other servers may not create row policies.
    with ExitStack() as stack:
        both = [Read(modern, hot, f"{base}/{tenant}") for tenant in ("a", "b")]
        for each in both:
            stack.callback(each.remove)
        yield Tenants(*both)


@pytest.fixture
def reports(modern: ModernShard) -> Iterator[str]:
    """A database that has reading tables alone."""
    modern.execute("CREATE DATABASE reports")
    yield "reports"
    remove_database(modern, "reports")


def kill_after_attach(read: Read, statements: int = 4) -> None:
    """Leave the policies that hide the clones, after so many statements about them."""
    dying = DyingReaders(read.servers.clients, statements, given=True)
    with pytest.raises(Killed):
        read.run_here("cold", dying, DyingParts(read.asked(), dying))
    assert "ATTACH" in dying.executed[-1]


def audit(read: Read) -> list[dict[str, Any]]:
    """What an audit says about policies."""
    (answer,) = run_modules(Call("twin_audit_info", {**read.given, "shard_paths": [read.path]}))
    return [each for each in answer["findings"] if each["kind"] == "policy_left"]


def test_a_run_leaves_the_policy_of_a_run_in_another_database(tenants: Tenants) -> None:
    """Each step of a move in one database, with a whole move in the other one before the next step."""
    a, b = tenants
    readers, record = a.prepare().readers, a.record()
    readers.follow({DAY: record})
    a.attach(record)
    assert a.seen() == ROWS
    recording = DyingReaders(b.servers.clients, 1_000, given=True)
    b.run_here("cold", recording)
    assert not [each for each in recording.executed if a.database in each]
    assert (a.seen(), b.seen()) == (ROWS, ROWS)
    record = a.verified(record)
    readers.follow({DAY: record})
    assert a.seen() == ROWS
    moved = b.go("hot")
    assert (moved["counts"]["moved"], moved["readers"][0]["tables"]) == (2, [b.all])
    assert a.seen() == ROWS
    a.drop(record)
    readers.follow({})
    assert (a.seen(), a.policies(), b.policies()) == (ROWS, 0, 0)


def test_the_policy_of_a_killed_run_stays_until_its_own_table_is_moved(tenants: Tenants) -> None:
    a, b = tenants
    kill_after_attach(a)
    assert a.ids(a.table("hits_cold"))[0]
    assert audit(b) == []
    assert b.go("cold")["counts"]["moved"] == 2
    assert b.go("hot", readers="none")["counts"]["moved"] == 2
    assert (a.seen(), a.policies()) == (ROWS, 2)
    assert a.go("cold")["counts"]["failed"] == 0
    assert (a.seen(), a.policies()) == (ROWS, 0)


def test_reading_tables_in_another_database(tenants: Tenants, reports: str) -> None:
    a, b = tenants
    for read, name in ((a, "of_a"), (b, "of_b")):
        read.read_by(f"{reports}.{name}")
    kill_after_attach(a, 8)
    assert b.go("cold")["counts"]["moved"] == 2
    assert (a.seen(f"{reports}.of_a"), len(policies_on(a.first, reports))) == (ROWS, 1)
    # A later table of this name reads another pair; the condition names tables without their database.
    for table in (f"{reports}.of_a", a.all):
        a.shard.execute(f"DROP TABLE {table} SYNC")
    b.read_by(f"{reports}.of_a")
    done = a.go("cold")
    assert done["counts"]["failed"] == 0, done
    assert (policies_on(a.first, reports), a.policies()) == ([], 0)
    assert b.seen(f"{reports}.of_a") == ROWS


def test_a_reading_table_of_several_pairs_has_a_policy_of_each(tenants: Tenants, modern: ModernShard) -> None:
    a = tenants.a
    other = Read(modern, a.hot, f"{a.base}/more", a.database, "clicks")
    for each in (a, other):
        modern.execute(f"DROP TABLE {each.all} SYNC")
    both = a.table("everything")
    modern.execute(
        f"CREATE TABLE {both} AS {a.table('hits')} ENGINE = Merge('{a.database}', '^(hits|clicks)')"
    )
    rows = [[1, 1, 2, 2, 3, 3, 4, 4]] * 2
    for read in (a, other):
        kill_after_attach(read)
        assert a.seen(both) == rows
    assert a.policies() == 4
    for read, left in ((a, 2), (other, 0)):
        assert read.go("cold")["counts"]["failed"] == 0
        assert (a.seen(both), a.policies()) == (rows, left)


def test_a_policy_with_the_name_of_an_earlier_version_goes_with_the_pair_of_its_reading_table(
    tenants: Tenants,
) -> None:
    """Earlier versions named a policy by the table alone. Its condition is of no use to a later run."""
    for read in tenants:
        for server in read.shard.servers:
            policy = f"partmove_moving_hits ON {read.all}"
            server.execute(f"CREATE ROW POLICY {policy} IN local_directory USING 1 AS RESTRICTIVE TO ALL")
            server.execute(
                f"ALTER ROW POLICY {policy} USING NOT (_table = 'hits' AND _partition_id = '{DAY}')"
            )
    a, b = tenants
    assert (a.seen(), b.seen()) == ([[4]] * 2, [[4]] * 2)
    assert [each["replica"] for each in audit(a)] == ["r1", "r2"]
    assert {each["reason"].rpartition(": ")[2] for each in audit(a)} == {
        f"DROP ROW POLICY IF EXISTS partmove_moving_hits ON {a.all}"
    }
    assert b.go("cold")["counts"]["moved"] == 2
    assert (b.seen(), b.policies()) == (ROWS, 0)
    assert (a.seen(), a.policies()) == ([[4]] * 2, 2)
    assert a.go("cold", readers="none")["counts"]["moved"] == 2
    assert (a.seen(), a.policies()) == (ROWS, 0)


def test_names_that_sql_has_to_quote(
    modern: ModernShard, hot: Ensemble, base: str, real_version: str
) -> None:
    del real_version
    database = "o.d`d-1"
    modern.execute(f"CREATE DATABASE {identifier(database)}")
    try:
        read = Read(modern, hot, f"{base}/h.i`ts", database)
        kill_after_attach(read)
        assert (read.seen(), read.policies()) == (ROWS, 2)
        read.second.restart()
        assert (read.seen(), read.policies()) == (ROWS, 2)
        assert read.go("cold")["counts"]["failed"] == 0
        assert (read.seen(), read.policies()) == (ROWS, 0)
    finally:
        remove_database(modern, database)


def test_a_policy_is_found_after_its_tables_were_renamed(tenants: Tenants) -> None:
    a, _b = tenants
    kill_after_attach(a)
    for old, new in (("hits", "events"), ("hits_cold", "events_cold")):
        a.shard.execute(f"RENAME TABLE {a.table(old)} TO {a.table(new)}")
    done = a.go("cold")
    assert (done["counts"]["failed"], a.policies()) == (0, 0), done


def test_another_twin_of_the_table_hides_nothing_because_of_the_records_of_the_first(
    tenants: Tenants,
) -> None:
    """A record of the first twin says nothing about rows in the second one."""
    a, _b = tenants
    kill_after_attach(a)
    second, reading = a.table("hits_second"), a.table("second_all")
    a.shard.execute(a.definition(second, f"cold:{a.path}_second"))
    a.shard.execute(f"CREATE TABLE {reading} AS {second} ENGINE = Merge('{a.database}', '^hits(_second)?$')")
    a.insert_into(second, 8)
    a.insert_into(a.table("hits"), 9, day="20240103")
    moving = [{"shard_path": a.path, "partition": "20240103"}]
    for option in ("auto", "none"):
        refused = a.move(state="cold", partitions=moving, twin="{table}_second", readers=option)
        assert a.seen(reading) == [[1, 2, 3, 4, 8, 9]] * 2, refused
        assert [each["gate"] for each in refused["deferred"]] == ["twin_whole"], refused
        assert "its record is about a move between" in refused["deferred"][0]["reason"]
        assert (a.seen(), len(policies_on(a.first, a.database))) == ([[1, 2, 3, 4, 9]] * 2, 1)
    done = a.go("cold")
    assert (done["counts"]["failed"], a.policies()) == (0, 0), done
