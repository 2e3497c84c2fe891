# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Readers of all kinds see each row once while partitions move; `make faults WHAT=readers` reads more."""

from __future__ import annotations

from pathlib import Path

import pytest

from seen_once.campaign import Campaign, problems_of
from seen_once.ground import ground

pytestmark = [pytest.mark.ladder, pytest.mark.long(minutes=1)]

READS = 300
SECONDS = 120.0


def test_readers_see_each_row_once(tmp_path: Path, real_version: str) -> None:
    with ground(tmp_path, real_version) as place:
        campaign = Campaign(place, threads=4, seed=1, kills=False, readers="policy")
        tally = campaign.run(READS, SECONDS, lambda _line: None)
        assert place.policies() == 0
    assert not problems_of(tally, campaign.moves), tally.summary()
    assert len(tally.reads) > 20
