# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The published JSON Schemas are those of the code, and accept what the code accepts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import FormatError
from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.state import State
from ansible_collections.olap.partmove.plugins.module_utils._partmove.journal.events import Event
from ansible_collections.olap.partmove.plugins.module_utils._partmove.journal.lines import parse_line
from ansible_collections.olap.partmove.plugins.module_utils._partmove.plan.lines import (
    PlanHeader,
    PlanRow,
    encode_header,
    encode_row,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.plan.origin import OriginZnode
from support.schemas import FOLDER, NAMES, problems, schema, text_of

LINES: Mapping[str, Mapping[str, Any]] = {
    each["properties"]["event"]["const"]: each for each in schema("journal")["oneOf"]
}
_EXAMPLES = {
    "string": "text",
    "integer": 1,
    "array": [],
    "object": {},
    r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$": "2026-11-22T07:00:00.000Z",
    "^[0-9a-f]{32}$": "0" * 32,
}


def example_of(of: Mapping[str, Any]) -> Any:
    """A value that the schema accepts."""
    if "const" in of:
        return of["const"]
    if of["type"] == "object" and "properties" in of:
        return {name: example_of(each) for name, each in of["properties"].items()}
    return _EXAMPLES[of.get("pattern", of["type"])]


@pytest.mark.parametrize("name", sorted(NAMES))
def test_published_schema_is_that_of_the_code(name: str) -> None:
    Draft202012Validator.check_schema(schema(name))
    assert (FOLDER / f"{name}.json").read_text(encoding="utf-8") == text_of(name), "run `make generated`"


def test_no_other_schema_is_published() -> None:
    assert sorted(path.stem for path in FOLDER.iterdir()) == sorted(NAMES)


def test_every_event_has_a_schema() -> None:
    assert sorted(LINES) == sorted(each.value for each in Event)


@pytest.mark.parametrize("event", sorted(LINES))
def test_schema_and_reader_of_journals_accept_the_same_lines(event: str) -> None:
    line = example_of(LINES[event])
    assert problems("journal", line) == []
    parse_line(json.dumps(line).encode(), "line 1")
    required = LINES[event]["required"]
    for name in line:
        fields = {key: value for key, value in line.items() if key != name}
        assert bool(problems("journal", fields)) == (name in required), name
        if name in required:
            with pytest.raises(FormatError):
                parse_line(json.dumps(fields).encode(), "line 1")
    for wrong in ({**line, "more": 1}, {**line, "version": 2}, {**line, "event": "none"}):
        assert problems("journal", wrong)


def test_header_and_rows_of_a_plan_are_valid() -> None:
    header = PlanHeader("0" * 64, "zookeeper", (OriginZnode("/clickhouse", 4, 5),), 6, 1, "f" * 64)
    row = PlanRow("/clickhouse/tables/01/hits", "202609", State.COLD, "unchanged", 7, 2, 6, 248)
    for line in (encode_header(header), encode_row(row)):
        assert problems("plan", json.loads(line)) == []
        assert problems("plan", {**json.loads(line), "more": 1})


@pytest.mark.parametrize(
    ("field", "value"),
    [("state", "WARM"), ("parts", -1), ("parts", None), ("last_modified", "today"), ("gate", "no_such_gate")],
)
def test_wrong_values_of_a_row_are_refused(field: str, value: object) -> None:
    row = PlanRow("/clickhouse/tables/01/hits", "202609", State.COLD, "unchanged", 7, 2, 6, 248)
    assert problems("plan", {**json.loads(encode_row(row)), field: value})
