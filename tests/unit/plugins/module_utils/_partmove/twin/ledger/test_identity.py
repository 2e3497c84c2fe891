# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A table is told from another one at its place by its UUIDs."""

from __future__ import annotations

from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.ledger.identity import (
    found_as,
    known_uuids,
    pair_of,
    read_identities,
    replaced_table,
    replaced_twin,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import (
    Side,
    TwinTables,
)
from support.memory.ledgers import servers_alone, tables_of_replicas
from support.memory.twins import PATH

TABLES = tables_of_replicas()


def test_a_pair_has_the_uuids_of_every_replica() -> None:
    pair = pair_of(TABLES, read_identities(servers_alone(), TABLES))
    assert pair.hot == ("db.hits", f"default:{PATH}", {"r1": "hot-r1", "r2": "hot-r2"})
    assert pair.cold == ("db.hits_cold", f"cold:{PATH}", {"r1": "cold-r1", "r2": "cold-r2"})
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
        "no replica's db.hits_cold has the UUID of then, such as cold-r1; db.old has this UUID now"
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
