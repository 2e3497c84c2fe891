# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which journal the role hands to part_repair: the default one, another file, or none."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from jinja2.nativetypes import NativeEnvironment

ROLE = Path(__file__).resolve().parents[4] / "roles" / "partmove_repair"
MODULE = "olap.partmove.part_repair"
LEFT_OUT = "the default journal of the module"


def calls(tasks: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the options of each call of part_repair, also in blocks."""
    for task in tasks:
        if MODULE in task:
            yield task[MODULE]
        for part in ("block", "rescue", "always"):
            yield from calls(task.get(part, []))


CALLS = {
    path.name: options
    for path in sorted((ROLE / "tasks").glob("*.yml"))
    for options in calls(yaml.safe_load(path.read_text(encoding="utf-8")))
}


def test_one_kind_and_all_kinds_are_repaired_by_a_task_each() -> None:
    assert set(CALLS) == {"one_kind.yml", "round.yml"}


@pytest.mark.parametrize("file", CALLS)
@pytest.mark.parametrize(
    ("given", "wanted"),
    [({}, LEFT_OUT), ({"partmove_repair_journal": ""}, ""), ({"partmove_repair_journal": "/j"}, "/j")],
)
def test_an_empty_text_switches_the_journal_off(file: str, given: dict[str, str], wanted: str) -> None:
    defaults = yaml.safe_load((ROLE / "defaults" / "main.yml").read_text(encoding="utf-8"))
    template = NativeEnvironment().from_string(CALLS[file]["journal"])
    assert template.render({**defaults, **given, "omit": LEFT_OUT}) == wanted
