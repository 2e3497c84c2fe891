# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The page about the journal describes every event in the words of the code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.journal.events import (
    EVENTS,
    HEAD,
    Event,
    Field,
)

ROOT = Path(__file__).parents[6]
PAGE = (ROOT / "docs" / "reference" / "journal.md").read_text(encoding="utf-8")
MODULES = {path.stem: path.read_text(encoding="utf-8") for path in (ROOT / "plugins/modules").glob("*.py")}


@pytest.mark.parametrize("event", Event)
def test_an_event_is_described_as_in_the_code(event: Event) -> None:
    found = re.search(rf"^### `{event.value}`\n\n(.+?)(?=^##|\Z)", PAGE, flags=re.MULTILINE | re.DOTALL)
    assert found is not None
    text, _heading, table = found[1].partition("| Field | |\n|---|---|\n")
    assert text.strip() == EVENTS[event].when
    assert table.strip().splitlines() == [
        table_row(name, field) for name, field in EVENTS[event].fields.items()
    ]


def test_the_page_has_exactly_the_events_of_the_code() -> None:
    assert re.findall(r"^### `(\w+)`$", PAGE, flags=re.MULTILINE) == [event.value for event in Event]
    for name, field in HEAD.items():
        assert f"\n{table_row(name, field)}\n" in PAGE


def test_the_page_and_journal_info_name_every_module_that_writes_a_journal() -> None:
    writers = {name for name, text in MODULES.items() if "\n  - olap.partmove.journal\n" in text}
    assert set(re.findall(r"`(\w+)`", PAGE.partition("```")[0])) == {*writers, "journal_info"}
    reads = MODULES["journal_info"].partition("  - Reads the journal of ")[2].partition(" on the host ")[0]
    assert set(re.findall(r"M\(olap\.partmove\.(\w+)\)", reads)) == writers


def table_row(name: str, field: Field) -> str:
    return f"| `{name}` | {field.meaning}{' (optional)' if field.optional else ''} |"
