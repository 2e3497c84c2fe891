# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the vocabularies of audits have in common: each kind says what is so, and what to do about it."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from functools import cache
from typing import NamedTuple

NOT_JUDGED = "not_judged"
"""The value of the kind that each vocabulary has for what could not be found out."""


class Texts(NamedTuple):
    """Sentences without their full stops."""

    means: str
    remedy: str = ""


class Vocabulary(Enum):
    """A closed vocabulary, the worst kind first; its subclasses have the kinds."""

    @property
    def told(self) -> Texts:
        """What is said of the kind."""
        raise NotImplementedError

    @property
    def means(self) -> str:
        """One sentence without its full stop: what is so."""
        return self.told.means

    @property
    def remedy(self) -> str:
        """What to do about it; empty for what is sound."""
        return self.told.remedy

    @property
    def is_sound(self) -> bool:
        """Whether nothing has to be done."""
        return not self.told.remedy

    @property
    def is_drift(self) -> bool:
        """Whether something is not as it should be. What could not be judged is neither sound nor drift."""
        return not self.is_sound and self.value != NOT_JUDGED

    @property
    def rank(self) -> int:
        """0 for the worst."""
        return _ranks(type(self))[self]


@cache
def _ranks(kinds: type[Vocabulary]) -> Mapping[Vocabulary, int]:
    return {kind: rank for rank, kind in enumerate(kinds)}
