# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Refusals have a reason and a remedy."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.gate import Refusal
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.names import GateName
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.record import TwinRecord
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.refusals import (
    absent,
    keeps_changing,
    keeps_refusing,
    too_large,
    unknown_state,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import (
    PartContent,
    Side,
)

RECORD = TwinRecord(
    Side.COLD, "a", "b", {"p": PartContent(1, "a", "b")}, {"q": PartContent(1, "c", "d")}, {}, (), 0
)


@pytest.mark.parametrize(
    ("refusal", "gate", "text"),
    [
        (absent(), GateName.PARTITION_EXISTS, "partition_id"),
        (keeps_changing("of 2 parts 1 were not cloned"), GateName.CLONES_EQUAL, "of 2 parts 1 were not"),
        (keeps_changing(""), GateName.CLONES_EQUAL, "it keeps changing"),
        (keeps_refusing(), GateName.TWIN_AT_REST, "system.merges"),
        (too_large(RECORD), GateName.FITS_ONE_MULTI, "it has 2 parts"),
        (
            unknown_state("it is odd", "/partmove/twins/a/p"),
            GateName.TWIN_KNOWN,
            "removes the record /partmove/twins/a/p",
        ),
    ],
)
def test_a_refusal_has_its_gate_and_a_remedy(refusal: Refusal, gate: GateName, text: str) -> None:
    assert refusal.gate is gate
    assert text in f"{refusal.reason}. {refusal.remedy}"
