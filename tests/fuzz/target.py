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

    corpus: what it takes, as bytes. read: hands bytes to it; what it gives does not matter. It raises Unfit
    for what would not come that far. refuses: the
    error with which it may refuse them, which has a message and a remedy.
    """

    name: str
    corpus: Sequence[bytes]
    read: Callable[[bytes], object]
    refuses: type[Exception]
