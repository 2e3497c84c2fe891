# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""JSON with a format and a version: other formats and versions are refused."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.envelope import (
    Envelope,
    json_object,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import (
    EnsembleError,
    PlanError,
)

ENVELOPE = Envelope(
    "list of moons", "olap.partmove/moons", 3, "Look up", error=PlanError, other_version=EnsembleError
)


def test_fields_survive_a_round_trip() -> None:
    whole = ENVELOPE.around({"moon": "full"})
    assert list(whole.items()) == [("format", "olap.partmove/moons"), ("version", 3), ("moon", "full")]
    assert ENVELOPE.opened(whole, "here") == {"moon": "full"}
    assert whole["version"] == 3


@pytest.mark.parametrize(
    "value",
    [None, [], "olap.partmove/moons", {}, {"format": "olap.partmove/plan", "version": 3}, {"format": None}],
)
def test_another_format_is_refused(value: object) -> None:
    with pytest.raises(PlanError) as refusal:
        ENVELOPE.opened(value, "sky:1")
    assert str(refusal.value) == (
        "sky:1: this is no list of moons, its format is not olap.partmove/moons. Look up."
    )


@pytest.mark.parametrize("version", [None, 2, 4, "3", 3.0, True])
def test_another_version_is_an_error_of_its_own(version: object) -> None:
    with pytest.raises(EnsembleError) as refusal:
        ENVELOPE.opened({"format": "olap.partmove/moons", "version": version}, "sky:1")
    assert refusal.value.message == f"sky:1: its version is {version!r}, this collection reads version 3"
    assert refusal.value.remedy == "Look up"


def test_version_true_is_not_version_1() -> None:
    with pytest.raises(EnsembleError, match="its version is True"):
        ENVELOPE._replace(version=1).opened({"format": "olap.partmove/moons", "version": True}, "sky:1")


def test_an_object_is_read() -> None:
    assert json_object('{"луна": [1, {"a": null}]}\n'.encode()) == {"луна": [1, {"a": None}]}


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "Expecting value"),
        (b"{", "Expecting property name"),
        (b"{} {}", "Extra data"),
        (b"\xff", "can't decode byte 0xff"),
        (b"[]", "it is a JSON value of another type"),
        (b"null", "it is a JSON value of another type"),
        (b'{"a": 1, "a": 1}', "a key occurs twice"),
        (b'{"b": {"a": 1, "a": 1}}', "a key occurs twice"),
        (b"[" * 100_000, "it is nested too deeply"),
    ],
)
def test_anything_else_is_refused(data: bytes, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        json_object(data)
