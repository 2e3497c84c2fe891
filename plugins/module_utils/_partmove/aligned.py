# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Puts answers beside what was asked for, and fails where one is missing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeVar, overload

_A = TypeVar("_A")
_B = TypeVar("_B")
_C = TypeVar("_C")


@overload
def aligned(first: Sequence[_A], second: Sequence[_B], /) -> Iterator[tuple[_A, _B]]: ...
@overload
def aligned(
    first: Sequence[_A], second: Sequence[_B], third: Sequence[_C], /
) -> Iterator[tuple[_A, _B, _C]]: ...
def aligned(*columns: Sequence[Any]) -> Iterator[tuple[Any, ...]]:
    """The rows of columns of one length; raises ValueError where the lengths differ.

    It is ``zip`` with its option ``strict``, which Python has from 3.10 on.

    >>> list(aligned(["/a", "/b"], [None, b"x"]))
    [('/a', None), ('/b', b'x')]
    """
    lengths = sorted({len(column) for column in columns})
    if len(lengths) > 1:
        raise ValueError(f"columns of {lengths} items stand beside each other")
    return zip(*columns)
