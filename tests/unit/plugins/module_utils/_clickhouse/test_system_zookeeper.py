# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Statements of ON CLUSTER and registrations, as servers show them in system.zookeeper."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.system_zookeeper import (
    parse_ddl_task,
    registration_of,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import PartMoveError
from ansible_collections.olap.partmove.plugins.module_utils._partmove.health.facts import (
    DdlTask,
    Registration,
)

PATH = "/clickhouse/task_queue/ddl/query-0000000007"
TEXT = "version: 1\nquery: CREATE TABLE d.t (a: Int8)\nhosts: ['ch1:9000','ch%2D2:9000']\ninitiator: ch1\n"


def test_a_statement_with_the_answer_of_each_host() -> None:
    finished = {"ch1:9000": "0", "ch%2D2:9000": "60\nTable d.t does not exist\n"}
    assert parse_ddl_task(PATH, TEXT, 5, finished) == DdlTask(
        path=PATH,
        query="CREATE TABLE d.t (a: Int8)",
        age=5,
        hosts=("ch1:9000", "ch-2:9000"),
        finished={"ch1:9000": "", "ch-2:9000": "Table d.t does not exist"},
    )


@pytest.mark.parametrize(
    ("status", "answer"),
    [("0", ""), ("0\n", ""), (" 0 \nfine", ""), ("47", "47"), ("47\n", "47"), ("47\nno column", "no column")],
)
def test_an_answer_is_a_code_and_a_message(status: str, answer: str) -> None:
    assert parse_ddl_task(PATH, TEXT, 5, {"ch1:9000": status}).finished == {"ch1:9000": answer}


def test_the_clock_of_a_server_may_be_behind() -> None:
    assert parse_ddl_task(PATH, TEXT, -3, {}).age == 0


@pytest.mark.parametrize("text", ["", "query: SELECT 1\n", "hosts: ['ch1:9000']\n", "query SELECT 1\nhosts"])
def test_an_invalid_statement_is_refused_with_its_path(text: str) -> None:
    with pytest.raises(PartMoveError, match=f"^{PATH} is no statement of ON CLUSTER"):
        parse_ddl_task(PATH, text, 0, {})


@pytest.mark.parametrize(
    ("children", "registration"),
    [
        (None, Registration(exists=False)),
        ({}, Registration(exists=True)),
        ({"host": ""}, Registration(exists=True)),
        ({"host": "host: ch1\nport: 9009\n", "is_active": ""}, Registration(True, active=True, host="ch1")),
        ({"host": "host: fe80::1\nport: 9009\n"}, Registration(True, active=False, host="fe80::1")),
    ],
)
def test_a_registration(children: dict[str, str] | None, registration: Registration) -> None:
    assert registration_of(children) == registration
