# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""JSON Schemas of the files that programs of others read, made from the code that writes the files.

``python -m support.schemas`` writes them to docs/reference/schemas; a test fails if one of them is outdated.
"""

from __future__ import annotations

import dataclasses
import json
import sys
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.state import State
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.names import FORESEEN
from ansible_collections.olap.partmove.plugins.module_utils._partmove.journal import lines as journal
from ansible_collections.olap.partmove.plugins.module_utils._partmove.journal.events import (
    EVENTS,
    HEAD,
    Field,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.plan import lines as plan
from ansible_collections.olap.partmove.plugins.module_utils._partmove.records import COUNT, TEXT
from role_readmes import markdown
from support.ansible.documented import returned

Schema = dict[str, Any]

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "reference" / "schemas"
_ADDRESS = "https://github.com/olap-partmove/olap.partmove/blob/main/docs/reference/schemas"
_STRING: Schema = {"type": "string"}
_COUNT: Schema = {"type": "integer", "minimum": 0}
_TIME: Schema = {"type": "string", "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$"}
_SHA_256: Schema = {"type": "string", "pattern": "^[0-9a-f]{64}$"}


@cache
def validator(name: str) -> Draft202012Validator:
    """Return the validator of a schema in `FOLDER`, such as "plan"."""
    return Draft202012Validator(schema(name))


def problems(name: str, value: object) -> list[str]:
    """Return what is wrong with a value by a schema, each with its place; the first ten."""
    errors = sorted(validator(name).iter_errors(value), key=lambda each: each.json_path)
    return [f"{each.json_path}: {each.message[:300]}" for each in errors[:10]]


@cache
def schema(name: str) -> Schema:
    """Return a schema by its name. Raises KeyError for a name that is not in `NAMES`."""
    title, make = _MADE[name]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"{_ADDRESS}/{name}.json",
        "title": title,
        **make(),
    }


def text_of(name: str) -> str:
    """Return the content of the file of a schema."""
    return json.dumps(schema(name), indent=2, ensure_ascii=False) + "\n"


def _object(properties: Mapping[str, Schema], optional: Sequence[str] = ()) -> Schema:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": [name for name in properties if name not in optional],
        "additionalProperties": False,
    }


def _plan() -> Schema:
    origin = _object({"path": {"type": "string", "pattern": "^/[^/]+$"}, "czxid": _COUNT, "ctime": _TIME})
    header = _object(
        {
            "format": {"const": plan.FORMAT},
            "version": {"const": plan.VERSION},
            "policy_digest": _SHA_256,
            "source": {"type": "string", "minLength": 1},
            "origin": {"type": "array", "items": origin, "uniqueItems": True},
            "as_of": _TIME,
            "rows": _COUNT,
            "rows_digest": _SHA_256,
        }
    )
    row = _object(
        {
            "shard_path": {"type": "string", "pattern": "^/"},
            "partition": {"type": "string", "minLength": 1},
            "state": {"enum": [State.COLD.value, State.HOT.value]},
            "reason": {"type": "string", "minLength": 1},
            "last_modified": _TIME,
            "parts": _COUNT,
            "znodes": _COUNT,
            "bytes": _COUNT,
            "gate": {"enum": [None, *(each.value for each in FORESEEN)]},
        }
    )
    return {"oneOf": [header, row]}


def _journal() -> Schema:
    head = {
        "version": {"const": journal.VERSION},
        "time": _TIME,
        "run": {"type": "string", "pattern": "^[0-9a-f]{32}$"},
    }
    lines = []
    for event, description in EVENTS.items():
        fields = {name: _journal_field(each) for name, each in description.fields.items()}
        optional = [name for name, each in description.fields.items() if each.optional]
        line = _object({**head, "event": {"const": event.value}, **fields}, optional)
        lines.append({"description": description.when, **line})
    assert [*head, "event"] == [*HEAD]
    return {"oneOf": lines}


def _journal_field(field: Field) -> Schema:
    """Raises KeyError for a schema of records.py without a form here."""
    part = _object(
        {
            "part": _STRING,
            "digest": _SHA_256,
            "replicas": {"type": "array", "items": _STRING},
            "data": {"type": "string", "contentEncoding": "base64"},
        },
        ["data"],
    )
    forms: Mapping[str, Schema] = {
        TEXT.expected: _STRING,
        COUNT.expected: _COUNT,
        "a list of texts": {"type": "array", "items": _STRING},
        "a list of mappings": {"type": "array", "items": part},
        "a mapping": {"type": "object", "additionalProperties": {"type": "integer"}},
    }
    return {"description": field.meaning, **forms[field.schema.expected]}


def _report() -> Schema:
    # Not every program of the tests has the Spark job in its path.
    from partition_classify.report import figures  # noqa: PLC0415

    found = _of_type(figures.ReportFigures)
    versions: Mapping[str, Schema] = {
        "format": {"const": figures.FORMAT},
        "version": {"const": figures.VERSION},
    }
    return _object({**versions, **found["properties"]})


def _of_type(hint: Any) -> Schema:
    """Return the schema of a type of figures.py. Raises KeyError for a type without a form here."""
    if dataclasses.is_dataclass(hint):
        return _object({name: _of_type(each) for name, each in typing.get_type_hints(hint).items()})
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in {types.UnionType, typing.Union}:
        return {"anyOf": [_of_type(each) for each in arguments]}
    if origin in {tuple, Sequence}:
        return {"type": "array", "items": _of_type(arguments[0])}
    if origin is Mapping:
        return {"type": "object"}
    names = {int: "integer", float: "number", str: "string", bool: "boolean", types.NoneType: "null"}
    return {"type": names[hint]}


def _result(module: str) -> Schema:
    """Return the schema of a module's result, whose documentation has types and meanings.

    Ansible adds values of its own.
    """
    properties = {name: _documented(each) for name, each in returned(module).items()}
    return {**_object(properties), "additionalProperties": True}


def _documented(value: Mapping[str, Any]) -> Schema:
    names = {"str": "string", "int": "integer", "float": "number", "bool": "boolean", "dict": "object"}
    description = value["description"]
    text = markdown(description if isinstance(description, str) else " ".join(description))
    found: Schema
    if value["type"] == "list":
        found = {"type": "array", "items": _element(value, names[value["elements"]])}
    else:
        found = _element(value, names[value["type"]])
    if "null" in text:
        found["type"] = [found["type"], "null"]
    return {"description": text, **found}


def _element(value: Mapping[str, Any], name: str) -> Schema:
    if "contains" not in value:
        return {"type": name}
    return _object({key: _documented(each) for key, each in value["contains"].items()})


_MADE: Mapping[str, tuple[str, Callable[[], Schema]]] = {
    "plan": ("A line of a plan file: the header, then rows", _plan),
    "journal": ("A line of a journal", _journal),
    "report": ("report.json of a classification", _report),
    "census": ("The file partmove_census_json", partial(_result, "census_info")),
    "audit-patched": ("The file partmove_audit_json of patched servers", partial(_result, "part_audit_info")),
    "audit-twin": ("The file partmove_audit_json of cold twins", partial(_result, "twin_audit_info")),
}
NAMES = tuple(_MADE)


def main() -> int:
    """Write the files."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in NAMES:
        (FOLDER / f"{name}.json").write_text(text_of(name), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
