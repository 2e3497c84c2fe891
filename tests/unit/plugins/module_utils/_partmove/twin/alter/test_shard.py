# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Waiting for servers, and the lease before each statement."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import PartMoveError
from support.memory.alters import AlterBench


def test_a_statement_in_progress_is_waited_for() -> None:
    bench = AlterBench()
    bench.run_killed_at("ADD COLUMN x Int8", " db.hits ", given=True)
    bench.servers.progress = ["a statement is in progress: ALTER"] * 3
    before = bench.hot.clock.now()
    bench.run(None)
    assert bench.hot.clock.now() > before
    assert not bench.is_recorded


def test_a_statement_that_stays_in_progress_ends_the_run() -> None:
    bench = AlterBench()
    bench.run_killed_at("ADD COLUMN x Int8", " db.hits ", given=True)
    bench.servers.progress = ["a statement is in progress: ALTER"] * 1000
    with pytest.raises(PartMoveError, match="a statement is in progress: ALTER"):
        bench.run(None, wait=5.0)
    assert bench.is_recorded
