# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Row policies are used where every replica can have them; otherwise the option decides."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import NotPermitted
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.names import GateName
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.refusals import Refused
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import TwinTables
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.readers.prepare import (
    Prepared,
    ReadersOption,
    ReadersOptions,
    prepare_readers,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.readers.servers import Reading
from support.memory.between import record
from support.memory.memory import ManualClock
from support.memory.readers import BOTH, READING, MemoryReaderServers
from support.memory.twins import DAY

RECORDS = {DAY: record()}


def prepare(servers: MemoryReaderServers, option: str = "auto", **more: Any) -> Prepared:
    given = {"has_records": False, **more}
    options = ReadersOptions(ReadersOption(option))
    return prepare_readers(servers, ManualClock(), BOTH, options, **given)


@pytest.mark.parametrize("option", ["auto", "policy"])
def test_each_replica_is_tried_and_rows_are_hidden(option: str) -> None:
    servers = MemoryReaderServers()
    prepared = prepare(servers, option)
    assert (prepared.tables, prepared.reason) == (("db.hits_all",), "")
    assert servers.acts == ["r1 probe local_directory", "r2 probe local_directory"]
    prepared.readers.follow(RECORDS)
    assert set(servers.policies) == {"r1", "r2"}


@pytest.mark.parametrize("option", ["auto", "policy", "none"])
def test_without_a_reading_table_nothing_is_hidden(option: str) -> None:
    servers = MemoryReaderServers(tables=(), no_storage=True)
    prepared = prepare(servers, option)
    assert (prepared.tables, prepared.reason) == ((), "")
    prepared.readers.follow(RECORDS)
    assert not servers.acts


@pytest.mark.parametrize(
    ("servers", "reason"),
    [
        (MemoryReaderServers(problems={"r2": "an old analyzer"}, left=(READING,)), "an old analyzer"),
        (MemoryReaderServers(problems={"probe r2": "hides all"}, left=(READING,)), "hides all"),
        (MemoryReaderServers(no_storage=True, left=(READING,)), "no local_directory. Configure it"),
    ],
)
def test_where_one_replica_cannot_have_a_policy_the_option_decides(
    servers: MemoryReaderServers, reason: str
) -> None:
    prepared = prepare(servers)
    assert prepared.tables == ()
    assert reason in prepared.reason
    servers.acts.clear()
    prepared.readers.follow(RECORDS)
    assert servers.acts == ["r1 DropPolicy hits_all", "r2 DropPolicy hits_all"]
    with pytest.raises(Refused, match=reason) as refused:
        prepare(servers, "policy")
    assert refused.value.refusal.gate is GateName.READERS_READY


def test_without_the_option_left_policies_are_removed() -> None:
    servers = MemoryReaderServers(left=(READING,))
    prepared = prepare(servers, "none")
    assert (prepared.tables, prepared.reason) == ((), "the option readers is none")
    prepared.readers.follow(RECORDS)
    assert servers.acts == ["r1 DropPolicy hits_all", "r2 DropPolicy hits_all"]


def test_a_user_who_may_not_see_policies_has_left_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def reading(tables: TwinTables) -> Reading:
        raise NotPermitted(f"no right on {tables.server}", remedy="GRANT it")

    servers = MemoryReaderServers()
    monkeypatch.setattr(servers, "reading", reading)
    for option in ("auto", "none"):
        assert "no right on server of r1" in prepare(servers, option, has_records=True).reason
    with pytest.raises(Refused, match="no right on server of r1"):
        prepare(servers, "policy")


def test_policies_that_may_be_left_and_cannot_be_found_stop_a_run() -> None:
    servers = MemoryReaderServers(fails=True)
    for option in ReadersOption:
        with pytest.raises(Refused, match="the server is away"):
            prepare(servers, option, has_records=True)


def test_a_server_that_is_away_may_have_readers() -> None:
    servers = MemoryReaderServers(fails=True)
    for option in ("auto", "policy"):
        with pytest.raises(Refused, match="the server is away") as refused:
            prepare(servers, option)
        assert refused.value.refusal.gate is GateName.READERS_READY
    assert "the server is away" in prepare(servers, "none").reason
