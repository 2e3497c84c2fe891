# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Random inventories against a model of the policy in plain Python."""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from ansible_collections.olap.partmove.plugins.module_utils.partmove.inventory import InventoryRow
from partition_classify.live_source import INVENTORY_SCHEMA
from partition_classify.policy import Policy, Rule, Settings
from partition_classify.transforms import plan_rows

HOUR = 3_600_000
DAY = 24 * HOUR
NOW = 20_000 * DAY
SHARDS = 400

POLICY = Policy(
    (
        Rule("/**/a", Settings(DAY, 1)),
        Rule("/ch/0?/*", Settings(2 * DAY, 2)),
        Rule("/ch/**", Settings(3 * DAY, 0)),
    ),
    Settings(5 * DAY, 3),
    "0" * 64,
)
# Close to every limit of the policy, and few enough for ties to be frequent.
AGES = sorted({days * DAY + off for days in (0, 1, 2, 3, 5) for off in (-1, 0, 1)} | {90 * DAY})


def inventory(chance: random.Random) -> Iterator[InventoryRow]:
    """Shard paths with a few partitions each, in one ensemble or in both, with any State."""
    for number in range(SHARDS):
        shard_path = f"{chance.choice(['/ch/0', '/ch/1', '/x/'])}{number}/{chance.choice('ab')}"
        for partition in chance.sample(["2019-1", "2019-12", "2019--1", "1", "all"], chance.randint(1, 5)):
            state = chance.choice(["", "HOT", "COLD", "COLD", "COLD\n"])
            ensembles = chance.choice([["hot"], ["hot"], ["cold"], ["hot", "cold"]])
            for replica in ("r1", "r2")[: chance.randint(1, 2)]:
                for block in range(chance.randint(1, 2)):
                    name = f"{partition}_{block}_{block}_0"
                    for ensemble in chance.sample(ensembles, chance.randint(1, len(ensembles))):
                        age, size = chance.choice(AGES), chance.randint(0, 200)
                        yield InventoryRow(
                            shard_path,
                            replica,
                            name,
                            partition,
                            NOW - age,
                            size,
                            1 + size % 3,
                            ensemble,
                            state,
                        )


def expected(rows: list[InventoryRow]) -> set[tuple[object, ...]]:
    """Shard path, partition, state, last_modified, parts, znodes, bytes, action of every plan row."""
    shards: dict[str, dict[str, list[InventoryRow]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        shards[row.shard_path][row.partition_id].append(row)
    return {
        (path, partition, *decision)
        for path, partitions in shards.items()
        for partition, decision in decide(path, partitions).items()
    }


def decide(path: str, partitions: dict[str, list[InventoryRow]]) -> dict[str, tuple[object, ...]]:
    settings = next((rule.settings for rule in POLICY.rules if re.search(rule.regex, path)), POLICY.defaults)
    hot = {key: [row for row in rows if row.ensemble == "hot"] for key, rows in partitions.items()}
    newest = sorted(
        (key for key, rows in hot.items() if rows),
        key=lambda key: (max(row.mtime for row in hot[key]), key),
        reverse=True,
    )
    kept = newest[: settings.keep_newest]
    decisions: dict[str, tuple[object, ...]] = {}
    for key, rows in partitions.items():
        counted = hot[key] or rows
        last = max(row.mtime for row in counted)
        marked = rows[0].state == "COLD"
        copies = {(row.replica, row.part) for row in rows if row.ensemble == "cold"}
        fresh = any((row.replica, row.part) not in copies for row in hot[key])
        if not hot[key]:
            state, action = "COLD", "stay"
        elif (marked and fresh) or NOW - last < settings.cold_after_ms or key in kept:
            state, action = "HOT", "reheat" if marked else "stay"
        else:
            state, action = "COLD", "move"
        totals = (len(counted), sum(row.znodes for row in counted), sum(row.bytes for row in counted))
        decisions[key] = (state, last, *totals, action)
    return decisions


@pytest.mark.parametrize("seed", [1, 2])
def test_plan_is_that_of_the_model(spark: SparkSession, seed: int) -> None:
    rows = list(inventory(random.Random(seed)))
    wanted = expected(rows)
    # Every outcome has to be there for the comparison to mean something.
    assert {(row[2], row[-1]) for row in wanted} == {
        ("COLD", "stay"),
        ("COLD", "move"),
        ("HOT", "stay"),
        ("HOT", "reheat"),
    }

    planned = plan_rows(spark.createDataFrame(rows, INVENTORY_SCHEMA), POLICY, NOW).drop("reason").collect()

    assert len(planned) == len(wanted)
    assert {tuple(row) for row in planned} == wanted
