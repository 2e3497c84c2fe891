# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An inconsistency counts only if two reads find it, because servers and runs go on during an audit."""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol, TypeVar

from .vocabulary import Vocabulary

SECONDS_BETWEEN_READS = 1.0


class Judged(Protocol):
    """A verdict of any audit."""

    @property
    def kind(self) -> Vocabulary:
        """The kind of finding."""


_Verdict = TypeVar("_Verdict", bound=Judged)


def confirmed(
    before: _Verdict | None, after: _Verdict, *, only_in_second: Collection[Vocabulary] = ()
) -> _Verdict | None:
    """Return the verdict on one place after two reads; None if the second read alone found an inconsistency.

    before: the verdict of the first read; None if the first read has no such place. A consistent first
    verdict stays, unless the second read, which compares more, found one of the kinds ``only_in_second``.
    """
    if before is None:
        return None if after.kind.is_inconsistent else after
    return before if before.kind.is_consistent and after.kind not in only_in_second else after
