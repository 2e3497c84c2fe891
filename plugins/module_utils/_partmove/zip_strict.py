# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Puts answers beside what was asked for, and fails where one is missing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

_A = TypeVar("_A")
_B = TypeVar("_B")


def zip_strict(first: Sequence[_A], second: Sequence[_B]) -> Iterator[tuple[_A, _B]]:
    """The pairs of two columns of one length; raises ValueError where the lengths differ.

    It is ``zip`` with its option ``strict``, which Python has from 3.10 on.

    >>> list(zip_strict(["/a", "/b"], [None, b"x"]))
    [('/a', None), ('/b', b'x')]
    """
    if len(first) != len(second):
        raise ValueError(f"columns of {len(first)} and {len(second)} items stand beside each other")
    return zip(first, second)
