# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The SQL that audits print for their remedies, run as printed on patched servers."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.kind import FindingKind
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.report import AuditReport
from support.servers.leftovers import original, ours, servers
from support.servers.leftovers.ground import DAY, Ground
from support.servers.replicated import WITHOUT_MERGES, Definition

pytestmark = [
    pytest.mark.clickhouse,
    pytest.mark.patched,
    pytest.mark.long(minutes=1),
    pytest.mark.usefixtures("healthy"),
]


@pytest.fixture
def ground(make_ground: Callable[[Definition], Ground]) -> Ground:
    """A table of two partitions, all in hot."""
    return make_ground(WITHOUT_MERGES)


def printed(ground: Ground, kind: FindingKind) -> list[tuple[int, str]]:
    """Return the statements of a kind in the summary, each with the number of the server that it names."""
    found = ground.audit()
    assert {row.verdict.kind for row in found.rows if row.partition == DAY} == {kind}
    start = f"SQL {kind.value} {ground.table.path} {DAY}: "
    lines = [each.removeprefix(start) for each in AuditReport([found]).summary() if each.startswith(start)]
    assert all(ground.table.name in each for each in lines)
    ports = [server.http_port for server in ground.table.servers]
    return [(number, line) for line in lines for number, port in enumerate(ports) if f":{port}" in line]


def rows(ground: Ground) -> list[object]:
    return [ground.table.rows(number) for number in range(len(ground.table.servers))]


def test_an_unregistered_partition_keeps_all_rows(ground: Ground) -> None:
    original.could_not_write_to_cold(ground)
    before = rows(ground)
    statements = printed(ground, FindingKind.UNREGISTERED)
    assert [number for number, _statement in statements] == [0, 0]
    for number, statement in statements:
        ground.table.servers[number].execute(statement, replication_alter_partitions_sync=2)
    ground.table.settle()
    assert rows(ground) == before
    kinds = {row.verdict.kind for row in ground.audit().rows if row.partition == DAY}
    assert kinds == {FindingKind.HOT_MARKED_COLD}
    for server in ground.table.servers:
        server.restart()
    assert rows(ground) == before


def test_several_cold_parts_are_merged_after_they_were_brought_back(ground: Ground) -> None:
    ours.several_parts_moved(ground)
    before = rows(ground)
    ((number, statement),) = printed(ground, FindingKind.SEVERAL_COLD_PARTS)
    ground.reheat(DAY)
    ground.table.servers[number].execute(statement)
    ground.table.settle()
    assert rows(ground) == before
    assert len(ground.table.active_parts()[DAY]) == 1


def test_a_query_shows_which_parts_have_the_rows_of_a_ghost(ground: Ground) -> None:
    servers.attached_after_the_session_with_cold_was_lost(ground)
    statements = printed(ground, FindingKind.GHOST)
    assert [number for number, _statement in statements] == [0, 1]
    for number, statement in statements:
        found = ground.table.servers[number].query(statement)
        assert [name for name, *_rest in found] == ground.table.active_parts(number)[DAY]
