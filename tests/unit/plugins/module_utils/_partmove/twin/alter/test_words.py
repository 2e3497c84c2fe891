# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Words of statements: nothing in a literal or a name counts."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import FormatError
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.alter.words import words_of


def test_literals_and_names_are_one_word_each() -> None:
    text = "update `a``b` = 'it\\'s -- ; (', \"c \" = [1] where x.y > 0.5 "
    assert [(word.kind, word.value) for word in words_of(text)] == [
        ("word", "UPDATE"),
        ("name", "`a``b`"),
        ("sign", "="),
        ("text", "'it\\'s -- ; ('"),
        ("sign", ","),
        ("name", '"c "'),
        ("sign", "="),
        ("sign", "["),
        ("word", "1"),
        ("sign", "]"),
        ("word", "WHERE"),
        ("word", "X"),
        ("sign", "."),
        ("word", "Y"),
        ("sign", ">"),
        ("word", "0"),
        ("sign", "."),
        ("word", "5"),
    ]


def test_brackets_have_a_depth() -> None:
    assert [(word.value, word.depth) for word in words_of("A (B [C]) D")] == [
        ("A", 0),
        ("(", 0),
        ("B", 1),
        ("[", 1),
        ("C", 2),
        ("]", 1),
        (")", 0),
        ("D", 0),
    ]


@pytest.mark.parametrize(
    "text", ["a -- b", "a # b", "a #! b", "a /* b */ c", "a; b", "a 'b", 'a "b', "a `b", "a 'b\\'"]
)
def test_comments_semicolons_and_open_quotes_are_refused(text: str) -> None:
    with pytest.raises(FormatError, match="has a comment, a semicolon or an open quote at"):
        words_of(text)


def test_no_text_has_no_words() -> None:
    assert words_of(" \n ") == ()
