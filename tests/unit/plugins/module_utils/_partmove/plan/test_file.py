# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Plan files: round trips, and refusal of other files with file and line."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import PlanError
from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.state import State
from ansible_collections.olap.partmove.plugins.module_utils._partmove.plan.file import (
    PlanRow,
    read_header,
    read_plan,
    rows_from_list,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.plan.writing import write_plan
from support.plans import HITS_1, HITS_2, ROWS, VISITS, made_up

POLICY_DIGEST = "ab" * 32
AS_OF = 1_790_000_000_123


def write(path: Path, rows: list[PlanRow]) -> None:
    source = "zookeeper hot=127.0.0.1:2181"
    write_plan(path, rows, policy_digest=POLICY_DIGEST, source=source, origin=made_up, as_of=AS_OF)


@pytest.fixture
def plan_path(tmp_path: Path) -> Path:
    path = tmp_path / "plan.jsonl"
    write(path, ROWS)
    return path


def test_rows_come_back_as_written(plan_path: Path) -> None:
    plan = read_plan(plan_path)
    assert list(plan.rows()) == ROWS
    assert plan.header.as_of == AS_OF
    assert plan.header.policy_digest == POLICY_DIGEST
    assert plan.header.rows == 3
    assert read_header(plan_path) == plan.header


def test_rows_of_a_shard_path_are_counted_and_read_alone(plan_path: Path) -> None:
    plan = read_plan(plan_path)
    assert plan.counts == {"/ch/hits/01": {State.COLD: 1, State.HOT: 1}, "/ch/visits/01": {State.HOT: 1}}
    assert plan.read("/ch/visits/01") == [VISITS]
    assert plan.read("/ch/hits/01") == [HITS_1, HITS_2]
    for state in State:
        wanted = [row.partition for row in (HITS_1, HITS_2) if row.state is state]
        assert plan.partitions("/ch/hits/01", state) == wanted


def test_file_is_what_the_manual_shows(plan_path: Path) -> None:
    lines = plan_path.read_text().splitlines(keepends=True)
    assert json.loads(lines[0]) == {
        "format": "olap.partmove/plan",
        "version": 3,
        "policy_digest": POLICY_DIGEST,
        "source": "zookeeper hot=127.0.0.1:2181",
        "origin": [{"path": "/ch", "czxid": 17, "ctime": "2023-11-14T22:13:20.000Z"}],
        "as_of": "2026-09-21T14:13:20.123Z",
        "rows": 3,
        "rows_digest": hashlib.sha256("".join(lines[1:]).encode()).hexdigest(),
    }
    assert lines[2] == (
        '{"shard_path":"/ch/hits/01","partition":"202611","state":"HOT",'
        '"reason":"among the 2 newest partitions",'
        '"last_modified":"2026-09-21T14:13:19.999Z","parts":1,"znodes":1,"bytes":0,"gate":null}\n'
    )


def test_a_plan_without_rows_is_a_plan(tmp_path: Path) -> None:
    write(tmp_path / "plan.jsonl", [])
    plan = read_plan(tmp_path / "plan.jsonl")
    assert list(plan.rows()) == []
    assert plan.header.origin == ()


def test_a_row_below_no_znode_of_the_origin_is_refused(plan_path: Path) -> None:
    rewritten(plan_path, lambda lines: lines[0]["origin"][0].update(path="/chx"), reseal=True)
    with pytest.raises(PlanError, match=":2: /ch/hits/01 is below no znode of the origin in the header"):
        read_plan(plan_path)


def test_plan_replaced_after_the_check_is_refused(plan_path: Path) -> None:
    plan = read_plan(plan_path)
    write(plan_path, [HITS_1])
    with pytest.raises(PlanError, match=r"plan\.jsonl: the plan file was changed while it was in use"):
        list(plan.rows())


def rewritten(plan_path: Path, change: Callable[[list[dict[str, Any]]], object], *, reseal: bool) -> None:
    """Change the lines as objects. ``reseal``: update the number and digest of the rows in the header."""
    values = [json.loads(line) for line in plan_path.read_text().splitlines()]
    change(values)
    rows = "".join(json.dumps(row) + "\n" for row in values[1:])
    if reseal:
        values[0]["rows"] = len(values) - 1
        values[0]["rows_digest"] = hashlib.sha256(rows.encode()).hexdigest()
    plan_path.write_text(json.dumps(values[0]) + "\n" + rows)


def test_resealed_file_is_read(plan_path: Path) -> None:
    """Without a fault, a rewritten file is a valid plan; the tests of refusals rely on this."""
    rewritten(plan_path, list, reseal=True)
    assert list(read_plan(plan_path).rows()) == ROWS


@pytest.mark.parametrize(
    ("line", "field", "value", "message"),
    [
        (0, "source", "", "1: source is ''"),
        (0, "rows", 2, "1: the header announces 2 rows and the file holds 3"),
        (0, "rows_digest", "0" * 64, "1: the rows do not have the digest that the header gives"),
        (1, "state", "cold", "2: state is 'cold'"),
        (3, "parts", -1, "4: parts is -1"),
    ],
)
def test_a_refused_line_is_named_by_its_number(
    plan_path: Path, line: int, field: str, value: object, message: str
) -> None:
    rewritten(plan_path, lambda values: values[line].update({field: value}), reseal=line > 0)
    with pytest.raises(PlanError) as refusal:
        read_plan(plan_path)
    assert refusal.value.message == f"{plan_path}:{message}"


@pytest.mark.parametrize("content", [b"", b"{}", b"{\n", b"\x00" * 100])
def test_a_file_that_is_no_plan_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "plan.jsonl"
    path.write_bytes(content)
    for read in (read_plan, read_header):
        with pytest.raises(PlanError, match=r"plan\.jsonl:1: "):
            read(path)


def test_header_of_another_version_is_none(plan_path: Path) -> None:
    rewritten(plan_path, lambda values: values[0].update({"version": 1}), reseal=False)
    assert read_header(plan_path) is None


def test_edited_row_is_refused_by_its_digest(plan_path: Path) -> None:
    plan_path.write_bytes(plan_path.read_bytes().replace(b'"HOT"', b'"COLD"', 1))
    with pytest.raises(PlanError, match=":1: the rows do not have the digest"):
        read_plan(plan_path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda rows: rows.append(dict(rows[3])), ":5: partition all of /ch/visits/01 is listed twice"),
        (lambda rows: rows.insert(1, rows.pop(2)), ":3: partition 202610 of /ch/hits/01 is out of order"),
        (lambda rows: rows.insert(1, rows.pop(3)), ":3: partition 202610 of /ch/hits/01 is out of order"),
    ],
)
def test_duplicates_and_disorder_are_refused(
    plan_path: Path, change: Callable[[list[Any]], object], message: str
) -> None:
    rewritten(plan_path, change, reseal=True)
    with pytest.raises(PlanError, match=message):
        read_plan(plan_path)


def test_every_cut_is_refused(plan_path: Path) -> None:
    whole = plan_path.read_bytes()
    for length in range(len(whole)):
        plan_path.write_bytes(whole[:length])
        with pytest.raises(PlanError):
            read_plan(plan_path)


def test_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        PlanError, match=r"none\.jsonl: the plan file cannot be read: No such file or directory"
    ):
        read_plan(tmp_path / "none.jsonl")


def test_list_of_partitions_is_sorted() -> None:
    rows = rows_from_list(
        [
            {"shard_path": "/ch/visits/01", "partition": "all"},
            {"shard_path": "/ch/hits/01", "partition": "202611"},
            {"shard_path": "/ch/hits/01", "partition": "202610"},
        ],
        State.COLD,
    )
    assert [(row.shard_path, row.partition) for row in rows] == [
        ("/ch/hits/01", "202610"),
        ("/ch/hits/01", "202611"),
        ("/ch/visits/01", "all"),
    ]
    assert {row.state for row in rows} == {"COLD"}
    assert {row.parts for row in rows} == {None}


@pytest.mark.parametrize(
    ("items", "message"),
    [
        (
            ["/ch/hits/01"],
            r"Item 1 of the list of partitions is '/ch/hits/01'\. It has to be a mapping of shard_path, ",
        ),
        ([{"shard_path": "/ch/hits/01"}], "Item 1 .*: partition is missing"),
        ([{"shard_path": "/a", "partition": "1", "state": "COLD"}], "Item 1 .*: state is not a known key"),
        (
            [{"shard_path": "/a", "partition": "1"}, {"shard_path": "/a", "partition": 2}],
            "Item 2 .*: partition is 2",
        ),
        ([{"shard_path": "/a", "partition": "1"}] * 2, "partition 1 of /a is listed twice"),
    ],
)
def test_wrong_list_of_partitions_is_refused(items: list[object], message: str) -> None:
    with pytest.raises(PlanError, match=message):
        rows_from_list(items, State.COLD)
