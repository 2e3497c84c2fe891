# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A table is told from another one at its place by its UUIDs."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.ledger.entry import Birth
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.ledger.identity import (
    Births,
    found_as,
    known_uuids,
    pair_of,
    read_births,
    read_identities,
    replaced_table,
    replaced_twin,
    was_there,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import (
    Side,
    TwinTables,
)
from support.memory.ledgers import servers_alone, tables_of_replicas
from support.memory.twins import PATH, TwinBench, Twins

TABLES = tables_of_replicas()
BORN, OTHER = Birth(7, 900_000), Birth(8, 900_000)


def test_a_pair_has_the_uuids_of_every_replica() -> None:
    pair = pair_of(TABLES, read_identities(servers_alone(), TABLES))
    assert pair.hot == ("db.hits", f"default:{PATH}", {"r1": "hot-r1", "r2": "hot-r2"}, None)
    assert pair.cold == ("db.hits_cold", f"cold:{PATH}", {"r1": "cold-r1", "r2": "cold-r2"}, None)
    assert known_uuids(pair) == ["cold-r1", "cold-r2", "hot-r1", "hot-r2"]
    assert known_uuids(None) == []


def test_after_an_exchange_the_table_at_home_is_hot() -> None:
    tables = [TwinTables(each.replica, each.server, each.cold, each.hot, Side.COLD) for each in TABLES]
    pair = pair_of(tables, read_identities(servers_alone(), tables))
    assert pair == pair_of(TABLES, read_identities(servers_alone(), TABLES))


def test_a_database_without_uuids_has_none() -> None:
    servers = servers_alone()
    servers.uuids = {}
    assert pair_of(TABLES, read_identities(servers, TABLES)).cold.uuids == {}


def test_another_table_is_named_with_the_place_of_the_former_one() -> None:
    servers = servers_alone()
    pair = pair_of(TABLES, read_identities(servers, TABLES))
    assert replaced_twin(pair, pair, {}) == replaced_table(pair, pair, {}) == ""
    servers.uuids = {"db.hits": "hot", "db.hits_cold": "new"}
    servers.others = {"db.old": "cold-r1"}
    identities = read_identities(servers, TABLES, pair)
    now = pair_of(TABLES, identities)
    assert replaced_twin(pair, now, identities) == (
        "no replica's db.hits_cold has the UUID of then, such as cold-r1, and nothing shows that its znodes"
        " are those of then; db.old has this UUID now"
    )
    assert replaced_table(pair, now, identities) == ""
    assert replaced_table(pair._replace(hot=pair.cold), now, {}).startswith("no replica's db.hits has")


def test_a_twin_at_another_path_is_another_twin() -> None:
    pair = pair_of(TABLES, read_identities(servers_alone(), TABLES))
    now = pair._replace(cold=pair.cold._replace(place="cold:/elsewhere"))
    assert replaced_twin(pair, now, {}) == (
        f"db.hits_cold is at cold:/elsewhere, and the ledger is about cold:{PATH}"
    )


def test_a_table_is_found_under_the_name_of_today() -> None:
    pair = pair_of(TABLES, read_identities(servers_alone(), TABLES))
    assert found_as(pair.cold, {"r1": {"db.b": "cold-r1", "db.c": "other"}}) == "; db.b has this UUID now"
    assert found_as(pair.cold, {"r1": {"db.c": "other"}}) == ""


def test_births_are_those_of_the_znode_log() -> None:
    bench, servers = TwinBench(Twins()), servers_alone()
    store = bench.hot.open()
    assert read_births(store, PATH, servers, TABLES) == (None, servers.born)
    bench._create(store, f"{PATH}/log", b"")
    (log,) = store.read([f"{PATH}/log"])
    assert log is not None
    born = Birth(log.stat.czxid, log.stat.ctime // 1000)
    assert read_births(store, PATH, servers, TABLES) == (born, servers.born)


@pytest.mark.parametrize(
    ("shown", "known"),
    [((BORN, BORN), BORN), ((BORN, None), BORN), ((None, None), None), ((BORN, OTHER), None)],
)
def test_the_birth_of_a_twin_is_unknown_if_servers_differ(
    shown: tuple[Birth | None, Birth | None], known: Birth | None
) -> None:
    servers = servers_alone()
    servers.births = dict(zip(("r1", "r2"), shown))
    assert read_births(TwinBench(Twins()).hot.open(), PATH, servers, TABLES).cold == known


def test_a_birth_that_servers_do_not_show_stays_known_of_the_same_table() -> None:
    servers = servers_alone()
    identities = read_identities(servers, TABLES)
    then = pair_of(TABLES, identities, Births(OTHER, BORN))
    assert pair_of(TABLES, identities, Births(), then) == then
    assert pair_of(TABLES, identities, Births(BORN, OTHER), then).cold.born == OTHER
    servers.uuids = {"db.hits": "hot", "db.hits_cold": "new"}
    now = pair_of(TABLES, read_identities(servers, TABLES), Births(), then)
    assert (now.hot.born, now.cold.born) == (OTHER, None)


def test_a_twin_whose_replicas_were_all_replaced_is_the_same() -> None:
    servers = servers_alone()
    then = pair_of(TABLES, read_identities(servers, TABLES), Births(BORN, BORN))
    servers.uuids = {"db.hits": "new", "db.hits_cold": "new"}
    now = pair_of(TABLES, read_identities(servers, TABLES), Births(BORN, BORN), then)
    assert replaced_twin(then, now, {}) == replaced_table(then, now, {}) == ""
    other = pair_of(TABLES, read_identities(servers, TABLES), Births(OTHER, OTHER), then)
    assert replaced_twin(then, other, {}).endswith("and its znodes are not those of then")
    assert replaced_table(then, other, {}).endswith("and its znodes are not those of then")


def test_a_twin_that_is_older_than_the_head_was_at_its_place() -> None:
    then = pair_of(TABLES, read_identities(servers_alone(), TABLES))
    now = then._replace(cold=then.cold._replace(born=BORN))
    day_later = BORN.ctime + 24 * 3600
    assert was_there(now, then, day_later)
    assert not was_there(now, then, day_later - 1)
    assert not was_there(then, then, day_later)
    assert not was_there(now, now._replace(cold=now.cold._replace(born=OTHER)), day_later)
    assert not was_there(now, then._replace(cold=then.cold._replace(place="cold:/else")), day_later)
