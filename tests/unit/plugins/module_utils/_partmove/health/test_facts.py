# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Facts of a server: what follows from them."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.health.facts import (
    LogPosition,
    ReplicaPath,
)
from support.memory.health import ROW, SERVER, T


@pytest.mark.parametrize(
    ("log", "lag"),
    [
        (LogPosition(0, 0, 1, 1), 0),
        (LogPosition(0, 1, 1, 1), 0),
        (LogPosition(9, 10, 1, 1), 0),
        (LogPosition(9, 0, 1, 1), 10),
        (LogPosition(9, 9, 1, 1), 1),
        (LogPosition(9, 12, 1, 1), 0),
    ],
)
def test_lag_of_the_log(log: LogPosition, lag: int) -> None:
    assert log.lag == lag


def test_a_process_has_started_its_uptime_ago() -> None:
    assert SERVER._replace(now=1_000, uptime=100).started == 900


def test_what_messages_call_tables_and_replicas() -> None:
    assert str(T) == "d.t"
    assert ROW.path == ReplicaPath("/p/t", "r1")
    assert str(ROW.path) == "/p/t/replicas/r1"
