# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Lets the clients insert rows of former days into every table of every shard, and waits until they have.

Usage: python -m staging.day.order FOLDER NAME --until DAY [--partitions 80] [--rows 4] [--times 1]
    [--tables TABLE ...]

Each table gets rows in so many partitions; the one of DAY is the newest. Prints the number of inserts.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Collection, Iterator
from datetime import date, timedelta
from pathlib import Path

from .config import Config, Order, Table, read_replicas

_PAUSE_SECONDS = 0.2
_SILENT_SECONDS = 60.0
_LONGEST_MONTH = 31


def orders(
    folder: Path, until: date, partitions: int, rows: int, tables: Collection[str] = ()
) -> Iterator[tuple[str, Order]]:
    """Yield each shard with an order for each table. tables: names; empty for all that take inserts."""
    for shard in sorted({replica.shard for replica in read_replicas(folder)}):
        for table in Config.load(folder).tables:
            if table.insert and (not tables or table.name in tables):
                days = [f"{day}" for day in _days(table, until, partitions)]
                yield shard, Order(table.name, days, rows)


def _days(table: Table, until: date, partitions: int) -> list[date]:
    """Return one day of each partition."""
    step = 1 if "%d" in table.partition else _LONGEST_MONTH
    return [until - timedelta(days=step * number) for number in range(partitions)]


def place(folder: Path, name: str, shard: str, order: Order) -> Path:
    """Give an order to the clients, in one go; return the file that says how it ended."""
    file = folder / "insert" / shard / f"{name}.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    new = file.with_suffix(".new")
    new.write_text(json.dumps(order._asdict()))
    new.rename(file)
    return folder / "inserted" / name


def await_all(folder: Path, outcomes: Collection[Path], seconds: float) -> list[str]:
    """Wait until all orders have ended; return the errors."""
    end = time.monotonic() + seconds
    while waiting := [each for each in outcomes if not each.exists()]:
        if time.monotonic() > end:
            return [f"{each.name}: not inserted after {seconds:.0f} s" for each in waiting]
        # The clients touch the file ten times a second.
        if time.time() - (folder / "started").stat().st_mtime > _SILENT_SECONDS:
            return ["the clients have ended: see what their program wrote"]
        time.sleep(_PAUSE_SECONDS)
    errors = {each.name: each.read_text() for each in outcomes}
    return [f"{name}: {error}" for name, error in errors.items() if error]


def main() -> int:
    """Return 1, and print what failed, if an insert failed."""
    parser = argparse.ArgumentParser(prog="staging.day.order", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("name")
    parser.add_argument("--until", type=date.fromisoformat, required=True)
    parser.add_argument("--partitions", type=int, default=80)
    parser.add_argument("--rows", type=int, default=4)
    parser.add_argument("--times", type=int, default=1)
    parser.add_argument("--tables", nargs="*", default=[])
    parser.add_argument("--seconds", type=float, default=600.0)
    options = parser.parse_args()
    wanted = [*orders(options.folder, options.until, options.partitions, options.rows, options.tables)]
    outcomes = [
        place(options.folder, f"{options.name}-{number}-{order.table}-{shard}", shard, order)
        for number in range(options.times)
        for shard, order in wanted
    ]
    errors = await_all(options.folder, outcomes, options.seconds)
    if errors:
        print("\n".join(errors), file=sys.stderr)
        return 1
    print(len(outcomes))
    return 0


if __name__ == "__main__":
    sys.exit(main())
