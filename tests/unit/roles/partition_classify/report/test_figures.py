# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The figures of a report as JSON."""

from __future__ import annotations

import json
import re
from pathlib import Path

from partition_classify.report.figures import Amount, json_text
from support.classify.reports import large


def test_same_figures_give_the_same_bytes() -> None:
    assert json_text(large()) == json_text(large())


def test_amounts_are_added_and_taken_away_field_by_field() -> None:
    one, other = Amount(1, 20, 300, 4000), Amount(5, 60, 700, 8000)
    assert one + other == Amount(6, 80, 1000, 12000)
    assert other - one == Amount(4, 40, 400, 4000)


def test_json_is_sorted_and_has_the_documented_fields() -> None:
    values = json.loads(json_text(large()))
    assert list(values) == sorted(values)
    assert (values["format"], values["version"]) == ("olap.partmove/report", 3)
    documented = (Path(__file__).parents[5] / "docs" / "report.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`(\w+)`", documented))
    assert _keys(values) - named == set()


def _keys(value: object) -> set[str]:
    if isinstance(value, dict):
        return set(value).union(*map(_keys, value.values()))
    if isinstance(value, list):
        return set().union(*map(_keys, value))
    return set()
