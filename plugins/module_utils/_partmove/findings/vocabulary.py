# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The base of the audit vocabularies: each kind has a meaning and a remedy."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from functools import cache, cached_property
from typing import NamedTuple

NOT_JUDGED = "not_judged"
"""The value of the kind that every vocabulary has for a row that could not be judged."""


class Texts(NamedTuple):
    """A meaning and a remedy, each a sentence without its full stop."""

    means: str
    remedy: str = ""


class Vocabulary(Enum):
    """A closed vocabulary of kinds, worst kind first; subclasses define the members.

    An audit asks the properties of a kind once for each row, so they are computed once for each kind.
    """

    @property
    def texts(self) -> Texts:
        """The meaning and the remedy of the kind."""
        raise NotImplementedError

    @property
    def means(self) -> str:
        """The meaning of the kind: one sentence without its full stop."""
        return self.texts.means

    @property
    def remedy(self) -> str:
        """The remedy; empty for a consistent kind."""
        return self.texts.remedy

    @cached_property
    def is_consistent(self) -> bool:
        """Whether no action is needed."""
        return not self.texts.remedy

    @cached_property
    def is_inconsistent(self) -> bool:
        """Whether an action is needed; False for a row that could not be judged."""
        return not self.is_consistent and self.value != NOT_JUDGED

    @cached_property
    def rank(self) -> int:
        """The position in the vocabulary; 0 is the worst kind."""
        return _ranks(type(self))[self]


@cache
def _ranks(kinds: type[Vocabulary]) -> Mapping[Vocabulary, int]:
    return {kind: rank for rank, kind in enumerate(kinds)}
