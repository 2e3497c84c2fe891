# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The scenario day: a patched cluster from stock servers on, with faults, under queries."""

from __future__ import annotations

import pytest

from support.scenarios import bootable, check_scenario

__all__ = ["bootable"]


@pytest.mark.long(minutes=40)
@pytest.mark.timeout(10800)
@pytest.mark.usefixtures("bootable")
def test_the_scenario_passes() -> None:
    check_scenario("day")
