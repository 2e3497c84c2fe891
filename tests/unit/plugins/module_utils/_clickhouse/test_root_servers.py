# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Tables and their parts are read between two equal reads of the names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.client import QueryRefused
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.replica_table import TwinClients
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.root_servers import HttpRootServers
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.twin_creation import TwinPlace
from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import PartMoveError, ServerAway
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import TwinReplica
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.table.pair import TableContents
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.table.root_survey import (
    ServerTables,
)

PATH = "/t/01/hits"
HITS = ["db", "hits", "default", PATH, "r1"]
TWIN = ["db", "hits_cold", "cold", f"{PATH}_cold", "r1"]
EXCHANGED = [["db", "hits_cold", *HITS[2:]], ["db", "hits", *TWIN[2:]]]


class FakeServer:
    """Is its own client, and shows other names in each read."""

    label = "ch1"

    def __init__(self, *reads: Sequence[Sequence[str]], columns: Sequence[str] = ("zookeeper_name",)) -> None:
        self._reads = list(reads)
        self._columns = columns
        self.asked = 0
        self.denied = False
        """Whether the user may not see row policies."""
        self.error: PartMoveError | None = None

    @property
    def unverified(self) -> FakeServer:
        return self

    def of(self, _path: str, _replica: str, _host: str) -> FakeServer:
        return self

    def rows(self, sql: str) -> list[list[Any]]:
        """Return the rows of a query; the last names are shown in all later reads."""
        self.asked += 1
        if self.error is not None:
            raise self.error
        if "system.columns" in sql:
            return [[each] for each in self._columns]
        if "system.row_policies" in sql:
            if self.denied:
                raise QueryRefused("ch1", 497, "Not enough privileges")
            return [["partmove_moving_/t/01/hits"]]
        if "system.parts" in sql:
            return [["db", "hits", "2", "30", "3", "abc", "700"]]
        if "engine_full" in sql:
            return [["db", "hits", f"ReplicatedMergeTree('cold:{PATH}', 'r1') ORDER BY id"]]
        names = self._reads.pop(0) if len(self._reads) > 1 else self._reads[0]
        return [list(each) for each in names]

    def servers(self) -> HttpRootServers:
        return HttpRootServers(cast(TwinClients, self), TwinPlace("cold", "{path}_cold"))


def read(server: FakeServer) -> ServerTables:
    return server.servers().placed_tables(PATH, TwinReplica("r1", ""))


def test_tables_are_found_by_their_places_with_their_parts() -> None:
    found = read(FakeServer([HITS, TWIN]))
    hits, twin = found.tables["default", PATH, "r1"], found.tables["cold", f"{PATH}_cold", "r1"]
    assert (str(hits), hits.contents, hits.partitions, hits.bytes_on_disk) == (
        "db.hits",
        TableContents(30, 3, "abc"),
        2,
        700,
    )
    assert (str(twin), twin.contents.parts, twin.partitions) == ("db.hits_cold", 0, 0)
    assert found.policies == {"partmove_moving_/t/01/hits"}


def test_names_that_are_exchanged_meanwhile_are_read_again() -> None:
    """The parts of hits would else be those of the table that had the name before."""
    found = read(FakeServer([HITS, TWIN], EXCHANGED))
    assert found.tables["cold", f"{PATH}_cold", "r1"].contents.parts == 3
    assert found.tables["default", PATH, "r1"].contents.parts == 0


def test_names_that_keep_changing_are_refused() -> None:
    reads = [[HITS, TWIN], EXCHANGED] * 3
    with pytest.raises(PartMoveError, match="renames replicated tables all the time"):
        read(FakeServer(*reads))


def test_a_version_that_does_not_report_ensembles_has_them_in_the_engine() -> None:
    found = read(FakeServer([["db", "hits", "", PATH, "r1"]], columns=("replica_name",)))
    assert list(found.tables) == [("cold", PATH, "r1")]


def test_policies_that_the_user_may_not_see_are_unknown() -> None:
    server = FakeServer([HITS, TWIN])
    server.denied = True
    assert read(server).policies is None


def test_each_server_is_asked_once_also_if_it_fails() -> None:
    server = FakeServer([HITS])
    servers = server.servers()
    assert servers.placed_tables(PATH, TwinReplica("r1", "")) is servers.placed_tables(
        PATH, TwinReplica("r1", "")
    )
    asked = server.asked
    silent = FakeServer([HITS])
    silent.error = ServerAway("silent", remedy="start it")
    servers = silent.servers()
    for _time in range(2):
        with pytest.raises(ServerAway):
            servers.placed_tables(PATH, TwinReplica("r1", ""))
    assert (asked, silent.asked) == (6, 1)
