# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How a figure of several runs is told."""

from __future__ import annotations

import re

from benchmark.machine import this_machine
from benchmark.spread import Spread


def test_a_figure_is_the_median_with_the_lowest_and_the_highest() -> None:
    assert f"{Spread.of([1500.0, 9000.04, 30.0]):,.1f} s" == "1,500.0 (30.0 to 9,000.0) s"


def test_the_median_of_two_is_between_them() -> None:
    assert Spread.of(iter([1, 4])) == (2.5, 1, 4)


def test_the_machine_is_told_with_its_load() -> None:
    told = this_machine()
    assert " cores (" in told
    assert "load average " in told
    assert re.search(r"10,000,000 additions in Python take \d+\.\d\d CPU seconds\.$", told)
