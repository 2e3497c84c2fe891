# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What two reads of one place come to."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.findings.two_reads import confirmed
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.kind import FindingKind


class Verdict(NamedTuple):
    kind: FindingKind


OK, LOST, RACE = Verdict(FindingKind.HOT), Verdict(FindingKind.UNREGISTERED), Verdict(FindingKind.NOT_ON_DISK)
DIFFERS = Verdict(FindingKind.COPIES_DIFFER)
UNJUDGED = Verdict(FindingKind.NOT_JUDGED)


@pytest.mark.parametrize(
    ("before", "after", "verdict"),
    [
        (OK, LOST, OK),
        (OK, OK, OK),
        (OK, DIFFERS, DIFFERS),
        (LOST, OK, OK),
        (LOST, RACE, RACE),
        (UNJUDGED, LOST, LOST),
        (None, LOST, None),
        (None, OK, OK),
        (None, UNJUDGED, UNJUDGED),
    ],
)
def test_an_inconsistency_needs_both_reads(
    before: Verdict | None, after: Verdict, verdict: Verdict | None
) -> None:
    assert confirmed(before, after, only_in_second={FindingKind.COPIES_DIFFER}) == verdict
