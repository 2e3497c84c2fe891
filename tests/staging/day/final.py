# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Checks that every row is on every replica exactly once, by the model of the clients.

Usage: python -m staging.day.final FOLDER [--seconds 300]

Prints the rows of each table on each shard as JSON. Waits for replicas that lag.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from .config import Config, read_replicas
from .model import Model, differences
from .queries import send

_PAUSE_SECONDS = 2.0


def wrong_rows(folder: Path) -> Iterator[str]:
    """Yield what is wrong on any replica: lost, doubled, unknown and dropped rows, and unequal replicas.

    Raises:
        QueryError: a replica does not answer.
    """
    config = Config.load(folder)
    model = Model(folder, config)
    answers: dict[tuple[str, str], dict[str, list[int]]] = {}
    for replica in read_replicas(folder):
        for table in config.tables:
            answer = json.loads(send(replica.address, table.read, config))
            answers.setdefault((replica.shard, table.name), {})[replica.name] = sorted(answer)
    for (shard, table_name), of_table in answers.items():
        rows, gone = model.rows(shard, table_name), model.dropped("gone", shard, table_name)
        for name, found in of_table.items():
            wrong = differences(rows, rows.confirmed.keys(), found, gone, gone)
            if wrong:
                yield f"{table_name} on {name}: {wrong}"
        if len({tuple(found) for found in of_table.values()}) > 1:
            yield f"{table_name}: the replicas {', '.join(of_table)} have unequal rows"


def summary(folder: Path) -> dict[str, dict[str, int]]:
    """Return how many rows of each table were confirmed, left unknown, and dropped."""
    config = Config.load(folder)
    model = Model(folder, config)
    counted = {}
    for shard in model.shards():
        for table in config.tables:
            rows, gone = model.rows(shard, table.name), model.dropped("gone", shard, table.name)
            counted[f"{table.name}, shard {shard}"] = {
                "confirmed": len(rows.confirmed),
                "unknown": len(rows.partitions) - len(rows.confirmed),
                "dropped": sum(rows.partitions[number] in gone for number in rows.confirmed),
            }
    return counted


def main() -> int:
    """Return 1, and print what is wrong, if it still is after so many seconds."""
    parser = argparse.ArgumentParser(prog="staging.day.final", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seconds", type=float, default=300.0)
    options = parser.parse_args()
    end = time.monotonic() + options.seconds
    while (wrong := [*wrong_rows(options.folder)]) and time.monotonic() < end:
        time.sleep(_PAUSE_SECONDS)
    if wrong:
        print("\n".join(wrong), file=sys.stderr)
        return 1
    print(json.dumps(summary(options.folder), indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
