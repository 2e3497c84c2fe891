# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Finds the tables that the condition of an UPDATE or DELETE reads.

The values of IN are a table to the server if they are a name alone, in brackets or not. The syntax tree shows
the name of a column and of a table in the same way.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import takewhile

from .words import Word

_IN = re.compile(r" *Function (?:global)?(?:not)?(?:null)?in(?:ignoreset)?(?: \(.*)?", re.IGNORECASE)
"""IN, NOT IN and the like, as operators or as functions."""
_NAME = re.compile(r"(?:Table)?Identifier ")


def reads_table(words: Sequence[Word], tree: Sequence[str]) -> bool:
    """Whether a statement reads another table. ``tree``: its syntax tree."""
    return _in_name(words) or any("Subquery" in line for line in tree) or _has_name_as_values(tree)


def _in_name(words: Sequence[Word]) -> bool:
    """Whether IN is followed by a name, which may be that of a table function."""
    return any(
        word.value == "IN" and word.kind == "word" and following.kind in ("word", "name")
        for word, following in zip(words, words[1:])
        if following.value != "PARTITION" or word.depth
    )


def _has_name_as_values(tree: Sequence[str]) -> bool:
    return any(
        _IN.fullmatch(line) and any(map(_NAME.match, _arguments(tree[index:])[1:]))
        for index, line in enumerate(tree)
    )


def _arguments(tree: Sequence[str]) -> list[str]:
    """Return the first line of each argument of the function at the first line."""
    depth = _depth(tree[0])
    below = takewhile(lambda line: _depth(line) > depth, tree[1:])
    return [line.strip() for line in below if _depth(line) == depth + 2]


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip())
