# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What all kinds have follows from what is said of them."""

from __future__ import annotations

from ansible_collections.olap.partmove.plugins.module_utils._partmove.findings.vocabulary import (
    Texts,
    Vocabulary,
)


class Weather(Vocabulary):
    """The worst first."""

    STORM = "storm"
    NOT_JUDGED = "not_judged"
    SUN = "sun"

    @property
    def texts(self) -> Texts:
        """What is said of it."""
        return Texts("the sun shines") if self is Weather.SUN else Texts("it rains", "Stay at home")


def test_a_kind_without_remedy_is_consistent() -> None:
    assert [kind.is_consistent for kind in Weather] == [False, False, True]
    assert (Weather.SUN.means, Weather.SUN.remedy) == ("the sun shines", "")


def test_a_row_that_is_not_judged_is_neither_consistent_nor_inconsistent() -> None:
    assert [kind.is_inconsistent for kind in Weather] == [True, False, False]


def test_the_order_is_that_of_the_vocabulary() -> None:
    assert [kind.rank for kind in Weather] == [0, 1, 2]
