# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Clones are read from the ensemble of the destination, as far as the version shows it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.client import (
    ClickHouseClient,
    QueryRefused,
)
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.clone_blocks import (
    read_known_clones,
    reads_all_ensembles,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import NotPermitted
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import (
    NO_CLONES_KNOWN,
    KnownClones,
    Side,
)
from support.memory.twins import table_of

HOT, COLD = (table_of(side, "r1") for side in Side)
ENTRY = (
    "format version: 4\ncreate_time: 2026-11-26 01:09:30\nsource replica: r1\nblock_id: \nREPLACE_RANGE\n"
    "drop_range_name: p_0_0_0\nfrom_database: db\nfrom_table: {}\nsource_parts: ['p_0_0_0']\n"
    "new_parts: ['p_1_1_0']\npart_checksums: ['AA']\ncolumns_version: -1\n"
)


class Asked:
    """A client that answers by what a query contains."""

    label = "ClickHouse at r1"

    def __init__(self, answers: Mapping[str, Sequence[Sequence[Any]]]) -> None:
        self.answers = answers
        self.queries: list[str] = []

    def rows(self, sql: str) -> Sequence[Sequence[Any]]:
        """Answer, or refuse as for a user without the right."""
        self.queries.append(sql)
        for text, answer in self.answers.items():
            if text in sql:
                return answer
        raise QueryRefused(self.label, 497, "not enough privileges")


def asked(**answers: Sequence[Sequence[Any]]) -> tuple[ClickHouseClient, Asked]:
    one = Asked({key.replace("_", " "): answer for key, answer in answers.items()})
    return cast("ClickHouseClient", one), one


@pytest.mark.parametrize("columns", [[["zookeeperName"], ["name"]], [["name"]]])
def test_versions_show_all_ensembles_or_the_default_one(columns: list[list[str]]) -> None:
    client, _one = asked(**{"system.columns": columns})
    assert reads_all_ensembles(client) is (len(columns) == 2)


def test_the_default_ensemble_is_read_in_every_version() -> None:
    blocks = [["p_replace_from_AA", "p_1_1_0"]]
    client, one = asked(**{"/blocks'": blocks, "/log'": [["log-0000000003", ENTRY.format(COLD.name)]]})
    found = read_known_clones(client, HOT, COLD, {"p": 2})
    assert found == {"p": KnownClones(frozenset({"p_1_1_0"}), complete=True, blocks={"p_1_1_0": "aa"})}
    assert not any("zookeeperName" in each for each in one.queries)


def test_an_auxiliary_ensemble_is_read_where_the_version_shows_it() -> None:
    answers = {
        "system.columns": [["zookeeperName"]],
        "/blocks'": [],
        "/log'": [["log-0000000003", ENTRY.format(HOT.name)]],
    }
    client, one = asked(**answers)
    assert read_known_clones(client, COLD, HOT, {"p": 2})["p"].names == {"p_1_1_0"}
    assert all("zookeeperName = 'cold'" in each for each in one.queries[1:])
    client, one = asked(**{"system.columns": [["name"]]})
    assert read_known_clones(client, COLD, HOT, {"p": 2}) == {"p": NO_CLONES_KNOWN}


def test_a_right_that_is_lacking_is_told() -> None:
    client, _one = asked()
    with pytest.raises(NotPermitted):
        read_known_clones(client, HOT, COLD, {"p": 2})


def test_without_the_right_no_clone_of_a_twin_is_known() -> None:
    client, _one = asked()
    assert read_known_clones(client, COLD, HOT, {"p": 2}) == {"p": NO_CLONES_KNOWN}
