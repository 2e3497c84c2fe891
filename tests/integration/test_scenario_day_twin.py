# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The scenario day_twin: cold twins from the first to the last, under load, while servers are upgraded."""

from __future__ import annotations

import pytest

from support.scenarios import bootable, check_scenario
from support.servers.downloads import NotToBeHad
from support.servers.ladder.rungs import rung

__all__ = ["bootable"]


@pytest.mark.long(minutes=30)
@pytest.mark.timeout(7200)
@pytest.mark.usefixtures("bootable")
def test_the_scenario_passes() -> None:
    for version in ("24.8", "25.8"):
        try:
            rung(version).library()
        except NotToBeHad as error:
            pytest.skip(f"NOT RUN: {error}")
    check_scenario("day_twin")
