# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Each error of a whole table names a gate, so that a report over many tables can be sorted by gates."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import (
    LeaseHeld,
    LeaseLost,
    PartMoveError,
    ShardHeld,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.gate import Refusal
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.names import GateName
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import Side
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.table.table_refused import (
    TableRefused,
    refusal_of,
)
from support.memory.pairs import PairBench
from support.memory.twins import DAY


@pytest.mark.parametrize(
    ("error", "gate"),
    [
        (LeaseHeld("x", remedy="y"), GateName.LOCK_FREE),
        (ShardHeld("x", remedy="y"), GateName.NOT_HELD),
        (LeaseLost("x", remedy="y"), GateName.LOCK_KEPT),
        (PartMoveError("x", remedy="y"), GateName.TWIN_READY),
        (TableRefused(Refusal(GateName.NOT_INNER, "x", "y")), GateName.NOT_INNER),
    ],
)
def test_an_error_has_its_gate_and_keeps_its_texts(error: PartMoveError, gate: GateName) -> None:
    assert refusal_of(error) == Refusal(gate, "x", "y")


def test_a_partition_that_stays_refuses_the_exchange_by_its_own_gate() -> None:
    bench = PairBench(("a",))
    bench.servers.silent_after = lambda statement: statement.startswith("attach")
    with pytest.raises(TableRefused, match=f"partition {DAY}") as raised:
        bench.move(Side.COLD)
    assert raised.value.refusal.gate is GateName.TWIN_READY
    assert DAY in raised.value.refusal.reason


def test_a_name_that_is_no_twin_is_refused_as_not_alike() -> None:
    bench = PairBench(("a",))
    bench.pairs.alter = lambda found: found._replace(home=found.home._replace(name="other"))
    with pytest.raises(TableRefused) as raised:
        bench.move(Side.COLD)
    assert raised.value.refusal.gate is GateName.TWIN_ALIKE
