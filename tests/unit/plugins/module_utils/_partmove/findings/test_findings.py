# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reports of all audits have their order, their counts and their figures from here."""

from __future__ import annotations

from typing import NamedTuple

from ansible_collections.olap.partmove.plugins.module_utils._partmove.findings.findings import Findings
from ansible_collections.olap.partmove.plugins.module_utils._partmove.findings.vocabulary import (
    Texts,
    Vocabulary,
)
from support.exposition import parsed


class Fruit(Vocabulary):
    """The worst first."""

    ROTTEN = "rotten"
    NOT_JUDGED = "not_judged"
    RIPE = "ripe"

    @property
    def texts(self) -> Texts:
        """What is said of it."""
        return Texts("it may be eaten") if self is Fruit.RIPE else Texts("it may not be eaten", "Look at it")


class Look(NamedTuple):
    """What one is."""

    kind: Fruit
    reason: str = ""
    parts: tuple[str, ...] = ()
    can_wait: bool = False


class Apple(NamedTuple):
    """One, with its place."""

    shard_path: str
    partition: str
    replica: str
    verdict: Look


class Tree(NamedTuple):
    """All of one tree."""

    shard_path: str
    rows: tuple[Apple, ...]
    unjudged: str = ""


class Basket(Findings[Apple, Fruit]):
    """All there are."""

    prefix = "apples"
    counted = "apples of trees"


RIPE = Apple("/b", "1", "", Look(Fruit.RIPE))
ROTTEN = Apple("/b", "2", "", Look(Fruit.ROTTEN, "it is brown"))
UNSEEN = Apple("/a", "3", "", Look(Fruit.NOT_JUDGED))
TREES = [Tree("/b", (RIPE, ROTTEN)), Tree("/a", (UNSEEN,)), Tree("/c", (), "nobody may look")]


def test_the_worst_comes_first() -> None:
    basket = Basket(Fruit, TREES)
    assert basket.rows == [ROTTEN, UNSEEN, RIPE]
    assert basket.findings == [ROTTEN, UNSEEN]
    assert basket.kinds() == {Fruit.ROTTEN: 1, Fruit.NOT_JUDGED: 1, Fruit.RIPE: 1}
    assert (basket.is_drifted, basket.is_complete, basket.shard_paths) == (True, False, 3)


def test_lines_for_people() -> None:
    assert Basket(Fruit, TREES).summary() == [
        "Shard paths: 3; apples of trees: 1 consistent, 1 inconsistent, 1 not judged",
        "rotten 1: it may not be eaten. Look at it. it is brown (/b 2)",
        "not_judged 1: it may not be eaten. Look at it. (/a 3)",
        "not audited: /c: nobody may look",
    ]


def test_figures() -> None:
    figures = parsed(Basket(Fruit, TREES).metrics(7.0))
    assert figures == {
        "apples_drift": {(("shard_path", "/b"), ("kind", "rotten")): 1},
        "apples_inconsistent": {(("kind", "rotten"),): 1},
        "apples_partitions": {(("kind", kind.value),): 1 for kind in Fruit},
        "apples_unjudged": {(("shard_path", "/c"),): 1},
        "apples_complete": {(): 0},
        "apples_timestamp_seconds": {(): 7},
    }
    whole = parsed(Basket(Fruit, TREES[:1]).metrics(7.0))
    assert whole["apples_last_complete_timestamp_seconds"] == {(): 7}


def test_nothing_is_not_complete() -> None:
    assert not Basket(Fruit, []).is_complete


def test_what_can_wait_is_complete_and_no_drift() -> None:
    waits = Basket(Fruit, [Tree("/b", (ROTTEN._replace(verdict=Look(Fruit.ROTTEN, can_wait=True)),))])
    assert (waits.is_drifted, waits.is_complete) == (False, True)


def test_a_report_on_nothing_is_not_complete() -> None:
    nothing = Basket(Fruit, [])
    figures = parsed(nothing.metrics(7.0))
    assert figures["apples_complete"] == {(): 0}
    assert "apples_last_complete_timestamp_seconds" not in figures


def test_a_finding_that_can_wait_is_reported_and_is_no_drift() -> None:
    waits = Basket(Fruit, [Tree("/b", (RIPE, ROTTEN._replace(verdict=Look(Fruit.ROTTEN, can_wait=True))))])
    assert waits.summary() == [
        "Shard paths: 1; apples of trees: 1 consistent, 0 inconsistent, 0 not judged, 1 can wait",
        "rotten 1: it may not be eaten. Look at it. (/b 2)",
    ]
    figures = parsed(waits.metrics(7.0))
    assert figures["apples_drift"] == {}
    assert figures["apples_inconsistent"] == {(("kind", "rotten"),): 0}
    assert figures["apples_partitions"][(("kind", "rotten"),)] == 1


def test_a_row_that_could_not_be_judged_never_waits() -> None:
    unseen = Basket(Fruit, [Tree("/a", (UNSEEN._replace(verdict=Look(Fruit.NOT_JUDGED, can_wait=True)),))])
    assert not unseen.is_complete
