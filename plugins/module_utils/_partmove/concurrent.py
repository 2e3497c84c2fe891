# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Asks several servers at the same time and returns the answers in order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

_Item = TypeVar("_Item")
_Answer = TypeVar("_Answer")


def map_concurrently(
    ask: Callable[[_Item], _Answer], items: Sequence[_Item], at_once: int = 1
) -> list[_Answer]:
    """Call ``ask`` for every item, at most ``at_once`` at a time, and return the answers in order.

    Raises the error of the first failing item in order. After a failure:

    - with ``at_once`` of 1, the later items are not asked;
    - with more, all items are asked.
    """
    if at_once == 1 or len(items) < 2:
        return [ask(item) for item in items]
    with ThreadPoolExecutor(min(at_once, len(items))) as pool:
        return list(pool.map(ask, items))
