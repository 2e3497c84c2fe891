# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Blanked messages, by which `make mutants` tells behaviour from words."""

from __future__ import annotations

import pytest

from mutants.any_text import AnyText, any_text, blanked, still_any_text

SOURCE = '''"""A docstring has many words."""

from __future__ import annotations

def f(path: "a type in words" = "a default in words") -> str:
    """Another docstring of many words."""
    if path == "two words":
        raise LeaseHeld(f"{path} is locked", remedy="Wait until it ends")
    statement = "SELECT name FROM system.parts"
    return f"{path}: {len(path)} of {statement}"
'''


def test_messages_are_blanked_and_all_else_is_left() -> None:
    code = blanked(SOURCE)

    assert "LeaseHeld(_still_any_text(_any_text(f'{path} is locked')), remedy=_still_any_text(" in code
    assert "return _still_any_text(_any_text(f'{path}: {len(path)} of {statement}'))" in code
    for left in (
        "'two words':",
        "= 'SELECT name FROM system.parts'",
        "'a type in words'='a default in words'",
    ):
        assert left in code.replace(" = 'a", "='a")
    assert code.splitlines()[:3] == [
        '"""A docstring has many words."""',
        "from __future__ import annotations",
        "from mutants.any_text import any_text as _any_text, still_any_text as _still_any_text",
    ]


def test_formats_keep_their_texts_and_errors_lose_them() -> None:
    code = blanked(SOURCE, only_errors=True)

    assert "LeaseHeld(_still_any_text(_any_text(" in code
    assert "return _still_any_text(f'{path}: {len(path)} of {statement}')" in code


def test_a_blanked_message_is_any_text_but_none() -> None:
    text = any_text("Wait until it ends")

    assert text == "other words"
    assert "other words" == text  # noqa: SIM300 - both sides may be the message
    assert [text] == ["other words"]
    assert "other" in text
    assert text != ""
    assert not text != "other words"  # noqa: SIM202 - the other operator
    assert any_text("") == ""


@pytest.mark.parametrize(
    "text",
    [
        any_text("a b c") + " more",
        "more " + any_text("a b c"),
        any_text("a b c").rstrip("."),
        any_text("a {} c").format("b"),
        still_any_text(", ".join([any_text("a b c"), any_text("d e f")])),
    ],
)
def test_what_is_made_of_a_blanked_message_is_any_text(text: str) -> None:
    assert isinstance(text, AnyText)
    assert text.startswith("other")
    assert text.endswith("words")


def test_what_has_nothing_of_a_message_stays() -> None:
    for value in ("text", b"BLANKED", 5, None):
        assert still_any_text(value) is value
