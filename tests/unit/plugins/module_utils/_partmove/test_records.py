# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Records: accepted values, and messages about wrong fields."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import (
    FormatError,
    PlanError,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.records import (
    COUNT,
    FLAG,
    FLAG_SETTING,
    PORT_SETTING,
    SECONDS,
    SECONDS_SETTING,
    TEXT,
    WHOLE_NUMBER,
    FieldType,
    InvalidValue,
    Record,
    Schema,
    list_of,
    mapping_of,
    one_of,
    or_none,
    satisfying,
)


def doubled(value: object) -> int:
    if isinstance(value, int):
        return 2 * value
    raise InvalidValue


def explained(_value: object) -> int:
    raise FormatError("the moon is full", remedy="Wait a week")


INNER = Record({"name": TEXT}, {"size": COUNT})
OUTER = Record(
    {"inner": INNER},
    {"several": list_of(INNER), "named": mapping_of(INNER), "twice": FieldType(doubled, "a number")},
    error=PlanError,
    remedy="Make it again",
)


@pytest.mark.parametrize(
    ("schema", "text", "value"),
    [
        (PORT_SETTING, "8123", 8123),
        (SECONDS_SETTING, "2.5", 2.5),
        (FLAG_SETTING, "true", True),
        (FLAG_SETTING, "False", False),
    ],
)
def test_a_setting_may_be_the_text_of_its_value(schema: Schema, text: str, value: object) -> None:
    record = Record({"field": schema})
    assert record.read({"field": text}, "here") == record.read({"field": value}, "here") == {"field": value}
    for invalid in ("", "x", "nan", "yes", None, ["1"]):
        with pytest.raises(FormatError, match=r"^here: field is "):
            record.read({"field": invalid}, "here")


@pytest.mark.parametrize(
    ("schema", "valid", "invalid"),
    [
        (TEXT, ["", "a"], [None, b"a", 1, ["a"]]),
        (FLAG, [True, False], [0, 1, "true", None]),
        (WHOLE_NUMBER, [-1, 0, 10**30], [True, 1.0, "1", None]),
        (COUNT, [0, 1, 10**30], [-1, True, False, 1.0, "1", None]),
        (SECONDS, [0, 1, 0.5], [True, "1", None, 10**100, float("inf"), float("nan")]),
        (one_of("COLD", "HOT"), ["COLD", "HOT"], ["cold", "", ["COLD"], None]),
        (list_of(TEXT), [[], ["a", "b"]], ["ab", ("a",), {}, None]),
        (mapping_of(COUNT), [{}, {"a": 1}], [[], {1: 1}, None]),
        (or_none(COUNT), [None, 1], [-1, "1"]),
        (satisfying(lambda value: value == 7, "a seven"), [7], [8]),
    ],
)
def test_a_schema_accepts_valid_and_refuses_invalid_values(
    schema: Schema, valid: list[object], invalid: list[object]
) -> None:
    record = Record({"field": schema})
    for value in valid:
        assert record.read({"field": value}, "here") == {"field": value}
    for value in invalid:
        with pytest.raises(FormatError) as refusal:
            record.read({"field": value}, "here")
        assert refusal.value.message == f"here: field is {value!r}"
        assert refusal.value.remedy == f"It has to be {schema.expected}"


def test_fields_are_parsed_and_absent_fields_stay_absent() -> None:
    assert OUTER.read({"twice": 4, "inner": {"name": "x"}}, "here") == {"inner": {"name": "x"}, "twice": 8}


@pytest.mark.parametrize(
    ("change", "message", "remedy"),
    [
        ({"inner": 1}, "inner is 1", "It has to be a mapping of name, size"),
        ({"inner": {}}, "inner.name is missing", "It has to be text in quotes"),
        ({"inner": {"name": 1}}, "inner.name is 1", "It has to be text in quotes"),
        (
            {"inner": {"name": "", "size": None}},
            "inner.size is None",
            "It has to be a whole number, 0 or more",
        ),
        ({"inner": {"name": "", "x": 1}}, "inner.x is not a known key", "Known are name, size"),
        ({"inner": {"name": "", 3: 1}}, "inner[3] is not a known key", "Known are name, size"),
        ({"x\n": 1}, "['x\\n'] is not a known key", "Known are inner, several, named, twice"),
        ({"several": {}}, "several is {}", "It has to be a list"),
        ({"several": [{"name": ""}, 2]}, "several[1] is 2", "It has to be a mapping of name, size"),
        ({"several": [{"name": ""}, {"name": 2}]}, "several[1].name is 2", "It has to be text in quotes"),
        ({"named": {"a b": {"name": 2}}}, "named['a b'].name is 2", "It has to be text in quotes"),
        ({"twice": "2"}, "twice is '2'", "It has to be a number"),
        ({"twice": "2" * 300}, f"twice is '{'2' * 199}...", "It has to be a number"),
    ],
)
def test_a_message_names_the_wrong_field(change: dict[Any, Any], message: str, remedy: str) -> None:
    with pytest.raises(PlanError) as refusal:
        OUTER.read({"inner": {"name": "x"}} | change, "plan:7")
    assert refusal.value.message == f"plan:7: {message}"
    assert refusal.value.remedy == f"{remedy}. Make it again"


@pytest.mark.parametrize("value", [None, "inner", ["inner"]])
def test_a_value_other_than_a_mapping_is_refused(value: object) -> None:
    with pytest.raises(PlanError) as refusal:
        OUTER.read(value, "the plan")
    assert refusal.value.message == f"the plan is {value!r}"
    assert refusal.value.remedy == "It has to be a mapping of inner, several, named, twice. Make it again"


def test_a_check_may_raise_a_complete_message() -> None:
    record = Record({"moon": FieldType(explained, "a moon")}, error=PlanError)
    with pytest.raises(PlanError) as refusal:
        record.read({"moon": 1}, "here")
    assert (refusal.value.message, refusal.value.remedy) == ("here: the moon is full", "Wait a week")


def test_extra_keys_are_dropped_if_allowed() -> None:
    record = Record({"name": TEXT}, extra_keys=True)
    assert record.read({"name": "a", "more": 1, 2: 3}, "here") == {"name": "a"}
    with pytest.raises(FormatError, match="^here: name is missing"):
        record.read({"more": 1}, "here")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)
KEYS = st.sampled_from(["inner", "several", "named", "twice", "other"])


def message_about(value: dict[str, object]) -> str:
    try:
        assert OUTER.read(value, "here").keys() == value.keys()
    except PlanError as refusal:
        return str(refusal)
    return "here: all is well. Make it again."


@given(st.dictionaries(KEYS, JSON | st.fixed_dictionaries({"name": JSON})))
def test_every_value_is_accepted_or_refused_with_place_and_remedy(value: dict[str, object]) -> None:
    sentences = message_about(value)
    assert sentences.startswith("here: ")
    assert sentences.endswith(". Make it again.")
