# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A TTL or a DROP PARTITION of both tables is proven by lineage; everything else is not."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.ledger.compare import (
    Blocks,
    entry_of,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.ledger.entry import BlockRange
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.ledger.retention import (
    folders_with,
    is_retention,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.ledger.servers import (
    LostFacts,
    SetAside,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import (
    Parts,
    PartsOf,
    TwinPart,
)
from support.memory.twins import DAY, content_of

NOW = 1_000.0


def parts(**rows: str) -> Parts:
    return tuple(TwinPart(f"{DAY}_{name[1:]}", content_of(tuple(text))) for name, text in rows.items())


TWO = parts(b0_1_1="ab", b3_3_0="c")
NOTHING = PartsOf((), ())
ENTRY = entry_of(TWO, DAY, Blocks(2, 4))
EXPIRING = entry_of(TWO, DAY, Blocks(2, 4), {f"{DAY}_0_1_1": 900, f"{DAY}_3_3_0": 1_000})
DROPPED = LostFacts(NOW, {}, {DAY: 5}, {DAY: 3})
UNTOUCHED = LostFacts(NOW, {}, {DAY: 4}, {DAY: 2})


def aside(part: str) -> dict[str, dict[str, list[SetAside]]]:
    return {DAY: {"r2": [SetAside(f"ignored_{DAY}_{part}", f"{DAY}_{part}")]}}


def test_a_partition_dropped_from_both_tables_is_retention() -> None:
    assert is_retention(ENTRY, NOTHING, DAY, DROPPED)


@pytest.mark.parametrize(
    "change",
    [
        lambda facts: facts._replace(cold_blocks=None),
        lambda facts: facts._replace(cold_blocks={}),
        lambda facts: facts._replace(cold_blocks={DAY: 4}),
        lambda facts: facts._replace(cold_blocks={DAY: 3}),
        lambda facts: facts._replace(hot_blocks={}),
        lambda facts: facts._replace(hot_blocks={DAY: 2}),
        lambda facts: facts._replace(hot_blocks={DAY: 1}),
        lambda facts: facts._replace(hot_blocks={DAY: -1}),
        lambda facts: facts._replace(set_aside=aside("3_3_0")),
        lambda facts: facts._replace(set_aside=aside("0_5_3")),
    ],
)
def test_a_drop_needs_a_trace_in_both_tables(change: Callable[[LostFacts], LostFacts]) -> None:
    assert not is_retention(ENTRY, NOTHING, DAY, change(DROPPED))


@pytest.mark.parametrize("left", [PartsOf(parts(b9_9_0="x"), ()), PartsOf((), TWO[:1])])
def test_a_drop_leaves_nothing(left: PartsOf) -> None:
    assert not is_retention(ENTRY, left, DAY, DROPPED)


def test_parts_whose_rows_expired_are_retention() -> None:
    assert is_retention(EXPIRING, NOTHING, DAY, UNTOUCHED)
    assert is_retention(EXPIRING, PartsOf((), TWO[1:]), DAY, UNTOUCHED)
    assert is_retention(EXPIRING, PartsOf(TWO, TWO[1:]), DAY, UNTOUCHED)


@pytest.mark.parametrize(
    "facts",
    [
        UNTOUCHED._replace(now=999.0),
        UNTOUCHED._replace(cold_blocks={DAY: 3}),
        UNTOUCHED._replace(cold_blocks=None),
        UNTOUCHED._replace(set_aside=aside("0_0_0")),
    ],
)
def test_a_ttl_needs_the_time_and_an_ensemble_of_today(facts: LostFacts) -> None:
    assert not is_retention(EXPIRING, NOTHING, DAY, facts)


def test_every_missing_block_must_have_expired() -> None:
    partly = EXPIRING._replace(ranges=(EXPIRING.ranges[0], BlockRange(3, 3)))
    assert not is_retention(partly, NOTHING, DAY, UNTOUCHED)
    assert is_retention(partly, PartsOf((), TWO[1:]), DAY, UNTOUCHED)


def test_a_twin_that_lacks_no_block_lacks_rows_for_another_reason() -> None:
    assert not is_retention(EXPIRING, PartsOf((), parts(b0_3_2="a")), DAY, UNTOUCHED)


def test_folders_are_found_by_their_blocks() -> None:
    facts = DROPPED._replace(set_aside=aside("2_3_1"))
    assert folders_with([BlockRange(3, 5)], DAY, facts) == {"r2": [f"ignored_{DAY}_2_3_1"]}
    assert folders_with([BlockRange(0, 1), BlockRange(4, 5)], DAY, facts) == {}
    assert folders_with([BlockRange(3, 5)], "another", facts) == {}
