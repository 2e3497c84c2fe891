# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The lines of a plan file: round trips, and refusal of other lines by field."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, strategies as st

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import PlanError
from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.state import State
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.names import FORESEEN, GateName
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.partition import PARTITION_GATES
from ansible_collections.olap.partmove.plugins.module_utils._partmove.plan.lines import (
    OtherVersion,
    PlanHeader,
    PlanRow,
    encode_header,
    encode_row,
    parse_header,
    parse_item,
    parse_row,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.plan.origin import OriginZnode

NO_OBJECT = "the line is no JSON object"
HEADER = PlanHeader(
    "ab" * 32,
    "zookeeper hot=127.0.0.1:2181",
    (OriginZnode("/ch", 0x10000002A, 1_700_000_000_123), OriginZnode("/other", 7, 0)),
    1_790_000_000_123,
    3,
    "cd" * 32,
)
ORIGIN = {"path": "/ch", "czxid": 42, "ctime": "2023-11-14T22:13:20.123Z"}
ROW = PlanRow(
    "/ch/hits/01",
    "202611",
    State.HOT,
    "among the 2 newest partitions",
    1_789_999_999_999,
    1,
    1,
    0,
    GateName.ONE_PART,
)


def changed(line: bytes, **fields: object) -> bytes:
    """Return the line with changed fields."""
    values: dict[str, Any] = json.loads(line)
    return json.dumps(values | fields).encode() + b"\n"


def test_a_header_comes_back_as_encoded() -> None:
    assert parse_header(encode_header(HEADER), "here") == HEADER


@pytest.mark.parametrize("gate", [None, *FORESEEN])
@pytest.mark.parametrize("state", State)
def test_a_row_comes_back_as_encoded(state: State, gate: GateName | None) -> None:
    row = ROW._replace(state=state, gate=gate)
    assert parse_row(encode_row(row), "here") == row


def test_lines_are_what_the_manual_shows() -> None:
    assert encode_header(HEADER).decode() == (
        '{"format":"olap.partmove/plan","version":3,"policy_digest":"' + "ab" * 32 + '",'
        '"source":"zookeeper hot=127.0.0.1:2181",'
        '"origin":[{"path":"/ch","czxid":4294967338,"ctime":"2023-11-14T22:13:20.123Z"},'
        '{"path":"/other","czxid":7,"ctime":"1970-01-01T00:00:00.000Z"}],'
        '"as_of":"2026-09-21T14:13:20.123Z","rows":3,'
        '"rows_digest":"' + "cd" * 32 + '"}\n'
    )
    assert encode_row(ROW).decode() == (
        '{"shard_path":"/ch/hits/01","partition":"202611","state":"HOT",'
        '"reason":"among the 2 newest partitions",'
        '"last_modified":"2026-09-21T14:13:19.999Z","parts":1,"znodes":1,"bytes":0,"gate":"one_part"}\n'
    )


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("shard_path", "ch/hits/01", "The shard path 'ch/hits/01' does not begin with a slash"),
        ("shard_path", "/ch/hits/01/", "The shard path '/ch/hits/01/' ends with a slash"),
        ("shard_path", "/ch//01", "The shard path '/ch//01' has two slashes in a row"),
        ("shard_path", "/", "The shard path '/' ends with a slash"),
        ("shard_path", None, "shard_path is None"),
        ("partition", 202611, "partition is 202611"),
        ("partition", "", "partition: '' is not a partition id"),
        ("partition", "2026/11", "partition: '2026/11' is not a partition id"),
        ("partition", "202611_1_1_0", "partition: '202611_1_1_0' is not a partition id"),
        ("state", "cold", "state is 'cold'"),
        ("state", "COLD\n", r"state is 'COLD\n'"),
        ("state", ["COLD"], "state is ['COLD']"),
        ("reason", "", "reason is ''"),
        ("last_modified", "2026-09-21T14:13:20Z", "last_modified is '2026-09-21T14:13:20Z'"),
        ("last_modified", "2026-02-30T00:00:00.000Z", "last_modified is '2026-02-30T00:00:00.000Z'"),
        ("last_modified", 0, "last_modified is 0"),
        ("parts", -1, "parts is -1"),
        ("parts", True, "parts is True"),
        ("znodes", 1.0, "znodes is 1.0"),
        ("bytes", "1", "bytes is '1'"),
        ("gate", "", "gate is ''"),
        ("gate", "old_enough", "gate is 'old_enough'"),
        ("gate", ["one_part"], "gate is ['one_part']"),
        ("colour", "blue", "colour is not a known key"),
    ],
)
def test_a_wrong_field_of_a_row_is_refused(field: str, value: object, message: str) -> None:
    with pytest.raises(PlanError) as refusal:
        parse_row(changed(encode_row(ROW), **{field: value}), "plan:3")
    assert refusal.value.message == f"plan:3: {message}"
    assert refusal.value.remedy


@pytest.mark.parametrize("field", PlanRow._fields)
def test_a_missing_field_of_a_row_is_refused(field: str) -> None:
    values = json.loads(encode_row(ROW))
    del values[field]
    with pytest.raises(PlanError, match=f"plan:3: {field} is missing"):
        parse_row(json.dumps(values).encode() + b"\n", "plan:3")


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("format", "olap.partmove/ledger", "this is no header of a plan file"),
        ("policy_digest", "AB" * 32, "policy_digest is"),
        ("policy_digest", "ab" * 31, "policy_digest is"),
        ("source", "", "source is ''"),
        ("origin", None, "origin is None"),
        ("origin", ["/ch"], "origin[0] is '/ch'"),
        ("origin", [ORIGIN | {"path": "/ch/hits"}], "origin[0].path is '/ch/hits'"),
        ("origin", [ORIGIN | {"path": "/"}], "origin[0].path is '/'"),
        ("origin", [ORIGIN | {"czxid": "0x2a"}], "origin[0].czxid is '0x2a'"),
        ("origin", [ORIGIN | {"ctime": 0}], "origin[0].ctime is 0"),
        ("origin", [ORIGIN, ORIGIN], "origin is not sorted, or has a znode twice"),
        ("origin", [ORIGIN, ORIGIN | {"path": "/a"}], "origin is not sorted, or has a znode twice"),
        ("as_of", "yesterday", "as_of is 'yesterday'"),
        ("rows", -1, "rows is -1"),
        ("rows_digest", None, "rows_digest is None"),
        ("host", "ch1", "host is not a known key"),
    ],
)
def test_a_wrong_field_of_the_header_is_refused(field: str, value: object, message: str) -> None:
    with pytest.raises(PlanError) as refusal:
        parse_header(changed(encode_header(HEADER), **{field: value}), "plan:1")
    assert refusal.value.message.startswith(f"plan:1: {message}")


@pytest.mark.parametrize("version", [1, 2, 4, True, "3", None, 3.0])
def test_another_version_has_an_error_class_of_its_own(version: object) -> None:
    with pytest.raises(OtherVersion) as refusal:
        parse_header(changed(encode_header(HEADER), version=version), "plan:1")
    assert refusal.value.message == (f"plan:1: its version is {version!r}, this collection reads version 3")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"", "the file is empty"),
        (b"{}", "the last line has no line end, the file was cut short"),
        (b"[]\n", NO_OBJECT),
        (b"{\n", f"{NO_OBJECT}: "),
        (b"\xff\n", f"{NO_OBJECT}: "),
        (
            b'{"format": "olap.partmove/plan", "format": "x"}\n',
            f"{NO_OBJECT}: a key occurs twice",
        ),
        (b"[" * 100_000 + b"\n", f"{NO_OBJECT}: "),
    ],
    ids=["nothing", "no line end", "a list", "half an object", "no UTF-8", "a key twice", "a deep list"],
)
def test_a_line_that_is_no_object_is_refused(line: bytes, message: str) -> None:
    for parse in (parse_header, parse_row):
        with pytest.raises(PlanError) as refusal:
            parse(line, "plan:1")
        assert refusal.value.message.startswith(f"plan:1: {message}")


def test_an_item_written_by_a_person() -> None:
    assert parse_item({"shard_path": "/ch/hits/01", "partition": "2019-1"}, "here") == (
        "/ch/hits/01",
        "2019-1",
    )
    with pytest.raises(PlanError, match="^here: The shard path '/ch/' ends with a slash"):
        parse_item({"shard_path": "/ch/", "partition": "2019-1"}, "here")
    with pytest.raises(PlanError, match="^here: partition is 201901. It has to be text in quotes"):
        parse_item({"shard_path": "/ch", "partition": 201901}, "here")


def test_gates_of_a_plan_are_gates_of_a_move() -> None:
    names = [gate.name for gate in PARTITION_GATES]
    assert [name for name in names if name in FORESEEN] == list(FORESEEN)


@given(st.integers(min_value=0, max_value=253_402_300_799_999))
def test_times_survive_the_file(milliseconds: int) -> None:
    row = ROW._replace(last_modified=milliseconds)
    assert parse_row(encode_row(row), "here").last_modified == milliseconds


@given(st.text(min_size=1))
def test_any_reason_stays_on_one_line(reason: str) -> None:
    line = encode_row(ROW._replace(reason=reason))
    assert line.count(b"\n") == 1
    assert parse_row(line, "here").reason == reason
