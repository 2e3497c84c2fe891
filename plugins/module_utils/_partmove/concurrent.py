# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Questions to several servers at the same time, with the answers in order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

_Whom = TypeVar("_Whom")
_Answer = TypeVar("_Answer")


def map_concurrently(
    ask: Callable[[_Whom], _Answer], those: Sequence[_Whom], at_once: int = 1
) -> list[_Answer]:
    """The answer of each, in their order, of so many at once; one after the other where that is 1.

    Raises what the first of them in that order raises. The others are asked all the same, unless it is one
    after the other.
    """
    if at_once == 1 or len(those) < 2:
        return [ask(each) for each in those]
    with ThreadPoolExecutor(min(at_once, len(those))) as pool:
        return list(pool.map(ask, those))
