# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The task of twin_ledger: enter partitions in the ledgers of twins, or take dropped partitions out."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from .._clickhouse.options import ClickHouseOptions
from .._clickhouse.twin_witnesses import HttpTwinWitnesses
from .._partmove.errors import EnsembleError, PartMoveError
from .._partmove.formats.layout import check_shard_path
from .._partmove.formats.names import check_partition_id
from .._partmove.text import count_of
from .._partmove.tree.ports import ZnodeStore
from .._partmove.twin.ledger.dropping import drop
from .._partmove.twin.ledger.entering import enter
from .._partmove.twin.ledger.entry import LedgerEntry
from .._partmove.twin.ledger.servers import LedgerServers
from .._partmove.twin.ledger.work import (
    WHOLE_TABLE,
    LedgerContext,
    LedgerOutcome,
    NotProven,
    run_under_lease,
)
from .journal_file import journalled_run
from .resources import LockOptions, Resources, servers_as_result
from .shard_paths import given_shard_paths, shard_paths_below


class TwinLedger:
    """Implements Task for twin_ledger."""

    def __init__(self, params: Mapping[str, Any], servers: LedgerServers | None = None) -> None:
        """Read the options of the module. Raises PartMoveError for invalid values.

        servers: used instead of the servers that the options name.
        """
        real = HttpTwinWitnesses(ClickHouseOptions.of(params["clickhouse"]), params["twin"])
        self._clients = real.clients if servers is None else None
        self._servers: LedgerServers = servers or real
        self._locks = LockOptions.of(params)
        self._is_entering = params["state"] == "entered"
        self._root: str | None = params["root"]
        self._shard_paths: list[str] = []
        self._dropped: dict[str, list[str]] = {}
        if not self._is_entering:
            self._dropped = _dropped(params["partitions"])
            self._shard_paths = sorted(self._dropped)
        elif self._root is None:
            self._shard_paths = given_shard_paths(params["shard_paths"])
        self._outcomes: list[LedgerOutcome] = []
        self._check_mode = False

    @property
    def failure(self) -> str:
        """A sentence about the first refusal and the number of others; empty without any."""
        refused = list(self._refused())
        if not refused:
            return ""
        path, partition, why = refused[0]
        others = len(refused) - 1
        more = f" {others} more refused, see refused." if others else ""
        place = f"Partition {partition} of {path}" if partition != WHOLE_TABLE else path
        return f"{place} was refused: {PartMoveError(why.reason, remedy=why.remedy)}{more}"

    def result(self) -> dict[str, Any]:
        """Return what was done so far; in check mode, what would be done."""
        counts = self._counts()
        entered = count_of(counts["entered"], "partition")
        would = "would be " if self._check_mode else ""
        return {
            "changed": bool(counts["entered"] or counts["removed"]),
            "msg": f"{entered} {would}entered, {counts['removed']:,} removed,"
            f" {counts['unchanged']:,} unchanged, {counts['refused']:,} refused",
            "counts": counts,
            "entered": [_row(*each) for each in self._entries("entered")],
            "removed": [_row(*each) for each in self._entries("removed")],
            "refused": [
                {"shard_path": path, "partition": partition, "reason": why.reason, "remedy": why.remedy}
                for path, partition, why in self._refused()
            ],
            "servers": [] if self._clients is None else servers_as_result(self._clients),
            "diff": {
                "before": "".join(_line(*each) for each in self._entries("removed")),
                "after": "".join(_line(*each) for each in self._entries("entered")),
            },
        }

    def run(self, resources: Resources) -> None:
        """Change the ledger of one shard path after the other.

        A shard path whose servers fail, or whose lock another run has, is refused; the others continue.
        """
        self._check_mode = resources.check_mode
        hot, journal = resources.open_ensemble("hot"), resources.open_journal()
        leases = self._locks.keeper("twin_ledger", hot, None, resources.clock)
        context = LedgerContext(hot, leases, self._servers, journal, self._locks.root)
        paths = self._paths(hot)
        work = {
            "work": "ledgers of twins" if self._is_entering else "partitions dropped on purpose",
            "shard_paths": len(paths),
        }
        with journalled_run(journal, "twin_ledger", (hot, None), work, self._counts):
            for path in paths:
                outcome = LedgerOutcome(path)
                self._outcomes.append(outcome)
                decide = enter if self._is_entering else drop(self._dropped[path])
                try:
                    run_under_lease(context, outcome, decide)
                except EnsembleError:
                    raise
                except PartMoveError as error:
                    outcome.refused[WHOLE_TABLE] = NotProven(error.message, error.remedy)

    def _paths(self, hot: ZnodeStore) -> list[str]:
        if self._root is None:
            return self._shard_paths
        return sorted(shard_paths_below(hot, self._root, self._locks.root))

    def _counts(self) -> dict[str, int]:
        kinds = ("entered", "removed", "unchanged", "refused")
        return {kind: sum(len(getattr(each, kind)) for each in self._outcomes) for kind in kinds}

    def _entries(self, kind: str) -> Iterator[tuple[str, str, LedgerEntry]]:
        for outcome in self._outcomes:
            found: Mapping[str, LedgerEntry] = outcome.entered if kind == "entered" else outcome.removed
            for partition, entry in sorted(found.items()):
                yield outcome.shard_path, partition, entry

    def _refused(self) -> Iterator[tuple[str, str, NotProven]]:
        for outcome in self._outcomes:
            for partition, why in sorted(outcome.refused.items()):
                yield outcome.shard_path, partition, why


def _dropped(partitions: list[dict[str, str]]) -> dict[str, list[str]]:
    """Return the option ``partitions``. Raises PartMoveError for an empty list and for invalid values."""
    if not partitions:
        raise PartMoveError("partitions is empty", remedy="Name the partitions that were dropped on purpose")
    found: dict[str, list[str]] = defaultdict(list)
    for each in partitions:
        partition = check_partition_id(each["partition"], "partitions")
        found[check_shard_path(each["shard_path"])].append(partition)
    return dict(found)


def _row(shard_path: str, partition: str, entry: LedgerEntry) -> dict[str, Any]:
    blocks = " ".join(map(str, entry.ranges))
    return {"shard_path": shard_path, "partition": partition, "rows": entry.rows, "blocks": blocks}


def _line(shard_path: str, partition: str, entry: LedgerEntry) -> str:
    return f"{shard_path} {partition}: {count_of(entry.rows, 'row')}\n"
