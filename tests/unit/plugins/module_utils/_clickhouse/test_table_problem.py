# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A table that lost its znodes is told from one without a session."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.table_problem import problem_of
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import TwinTable

LOST = "Code: 999. Coordination error: No node, path /t_cold/log. (KEEPER_EXCEPTION)"


def table(total: int) -> TwinTable:
    return TwinTable("db", "hits-cold", "cold", "/t_cold", "r1", "", (), total, total)


@pytest.mark.parametrize(
    ("total", "exception", "read_only", "problem"),
    [
        (2, "", 0, ""),
        (2, "", 1, "has no session with its ensemble"),
        (0, "Code: 999. Session expired", 1, "has no session with its ensemble"),
        # Another znode is missing, and not those of the replicas.
        (2, LOST, 1, "has no session with its ensemble"),
        (2, LOST, 0, ""),
    ],
)
def test_the_problem_of_a_table(total: int, exception: str, read_only: int, problem: str) -> None:
    assert problem_of(table(total), exception, read_only) == problem


@pytest.mark.parametrize("read_only", [0, 1])
@pytest.mark.parametrize(
    "exception", [LOST, "Can't get data for node '/x': node doesn't exist.", "(ZNONODE)"]
)
def test_lost_znodes_have_their_statements(exception: str, read_only: int) -> None:
    problem = problem_of(table(0), exception, read_only)
    assert problem.startswith(
        "has lost its znodes in the ensemble cold: run SYSTEM RESTART REPLICA db.`hits-cold`"
    )
    assert "SYSTEM RESTORE REPLICA db.`hits-cold` on every replica" in problem
