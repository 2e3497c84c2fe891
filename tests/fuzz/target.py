# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is fuzzed: a parser, with input that it takes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass


class Unfit(Exception):
    """Input that would not reach the parser."""


@dataclass(frozen=True)
class Target:
    """One parser.

    corpus: valid inputs, as bytes. read: hands bytes to the parser; the result does not matter. ``read``
    raises InvalidValue for input that would not get that far. refuses: the error with which the parser may
    refuse an input, which has a message and a remedy.
    """

    name: str
    corpus: Sequence[bytes]
    read: Callable[[bytes], object]
    refuses: type[Exception]
