# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Pairs requests with their answers, and fails on a missing answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

_A = TypeVar("_A")
_B = TypeVar("_B")


def zip_strict(first: Sequence[_A], second: Sequence[_B]) -> Iterator[tuple[_A, _B]]:
    """Pair the items of two sequences. Raises ValueError if the lengths differ.

    Stands for ``zip(..., strict=True)``, which needs Python 3.10.

    >>> list(zip_strict(["/a", "/b"], [None, b"x"]))
    [('/a', None), ('/b', b'x')]
    """
    if len(first) != len(second):
        raise ValueError(f"cannot pair sequences of {len(first)} and {len(second)} items")
    return zip(first, second)
