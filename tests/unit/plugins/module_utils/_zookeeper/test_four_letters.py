# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What members answer to ``srvr``, and that nobody need answer."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._zookeeper.four_letters import (
    ask_member,
    parse_srvr,
)
from ansible_collections.olap.partmove.plugins.module_utils._zookeeper.options import EnsembleOptions
from ansible_collections.olap.partmove.plugins.module_utils._zookeeper.strain import MemberState

ANSWER = """\
Zookeeper version: 3.9.5-x, built on 2026-01-01 00:00 UTC
Latency min/avg/max: 0/0.0/0
Received: 1
Sent: 0
Connections: 1
Outstanding: 12
Zxid: 0x1000000ff
Mode: follower
Node count: 5
"""
NOBODY = "127.0.0.1:9"
"""A port of this machine that nothing listens on."""


def test_state_of_a_member() -> None:
    assert parse_srvr(ANSWER) == MemberState(12, 0x1_0000_00FF)


@pytest.mark.parametrize(("zxid", "number"), [("0xff", 255), ("0x", 0), ("255", 255), ("0", 0)])
def test_state_of_a_member_of_keeper(zxid: str, number: int) -> None:
    answer = ANSWER.replace("Zookeeper version: 3.9.5-x", "ClickHouse Keeper version: v23.3.1.1-lts")
    assert parse_srvr(answer.replace("0x1000000ff", zxid)) == MemberState(12, number)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "srvr is not executed because it is not in the whitelist.\n",
        "This ZooKeeper instance is not currently serving requests\n",
        ANSWER.replace("Outstanding", "Waiting"),
        ANSWER.replace("0x", ""),
    ],
    ids=["nothing", "not allowed", "not serving", "no outstanding", "no zxid"],
)
def test_other_answers_have_no_state(text: str) -> None:
    assert parse_srvr(text) is None


def test_absent_member_has_no_state() -> None:
    assert ask_member(EnsembleOptions("hot", (NOBODY,)), NOBODY, 5.0) is None
