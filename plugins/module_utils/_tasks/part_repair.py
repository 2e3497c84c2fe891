# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The task of part_repair: repair the findings of one kind, or of all, one shard path after the other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from typing import Any

from .._partmove.errors import AccessDenied, EnsembleError, PartMoveError, PausedTooLong, SessionRefused
from .._partmove.formats.layout import ShardLayout
from .._partmove.formats.names import check_partition_id
from .._partmove.gates.servers import AskServers
from .._partmove.journal.events import Event
from .._partmove.lease.two_ensembles import check_different_history
from .._partmove.patched.audit.kind import FindingKind
from .._partmove.patched.audit.repair_order import REPAIR_ORDER
from .._partmove.patched.parts.pair import read_pair
from .._partmove.patched.repair.backup import BackupHeader, SavedZnode
from .._partmove.patched.repair.case import RepairContext, RepairOptions
from .._partmove.patched.repair.run import REMEDIES, kinds_found, repair_shard
from .._partmove.patched.repair.saving import SavingStore
from .._partmove.shard.fence import no_table
from .._partmove.text import first_few, format_time, parse_duration
from .._partmove.tree.ports import ZnodeStore
from .backup_file import BackupFile
from .journal_file import journalled_run
from .pacing import PaceOptions
from .progress import Progress
from .registrations_file import read_registrations
from .resources import SERVERS_AT_ONCE, LockOptions, Resources, probe_of
from .shard_paths import given_shard_paths
from .shard_repair import ShardRepair

ALL_KINDS = "all"
_MOST_ROUNDS = 10
"""Rounds end by themselves; this limit is for states that keep changing."""


class PartRepair:
    """Implements Task for part_repair."""

    def __init__(self, params: Mapping[str, Any]) -> None:
        """Read the options of the module. Raises PartMoveError for invalid values."""
        self._params = params
        given = params["shard_paths"]
        self._is_single = given is None
        paths = [params["shard_path"]] if given is None else given_shard_paths(given)
        self._layouts = [ShardLayout(each) for each in paths]
        self._kind = None if params["kind"] == ALL_KINDS else FindingKind(params["kind"])
        """The kind to repair; None for all kinds, in rounds."""
        self._steps = [] if self._kind is None else [ShardRepair(each, self._kind) for each in paths]
        self._last = self._steps
        """The steps of the last round, which decide what is left."""
        self._errors: dict[str, PartMoveError] = {}
        """Shard path → why it could not be repaired; other shard paths go on."""
        partitions = params["partitions"]
        self._only = None if partitions is None else [_partition_id(each) for each in partitions]
        self._locks = LockOptions.of(params)
        self._pace = PaceOptions.of(params)
        self._options = self._read_options()
        self._done: list[str] = []
        self._seconds = 0.0
        self._check_mode = False

    @property
    def failure(self) -> str:
        """A sentence about shard paths that could not be repaired; empty without any."""
        if not self._errors:
            return ""
        texts = first_few([f"{path}: {error}" for path, error in sorted(self._errors.items())])
        return f"{len(self._errors)} of {len(self._layouts)} shard paths could not be repaired: {texts}"

    def result(self) -> dict[str, Any]:
        """Return the result so far."""
        repaired = [row for each in self._steps for row in each.repaired()]
        left = [row for each in self._last for row in each.left()]
        names = [
            (f"{row['shard_path']} {row['partition']} {row['replica']}", row["kind"]) for row in repaired
        ]
        backups = [each.backup.path for each in self._steps if each.backup is not None and each.backup.path]
        counts = self._counts()
        return {
            "changed": bool(self._done),
            "msg": self._message(counts["repaired"], counts["left"]),
            "counts": counts,
            "repaired": repaired,
            "left": left,
            "failed_shard_paths": [
                {"shard_path": path, "reason": error.message, "remedy": error.remedy}
                for path, error in sorted(self._errors.items())
            ],
            "steps": [each.step() for each in self._steps],
            "operations": list(self._done),
            "seconds": round(self._seconds, 1),
            "backup": backups[0] if self._is_single and backups else "",
            "backups": backups,
            "diff": {
                "before": "".join(f"{name}: {kind}\n" for name, kind in names),
                "after": "".join(f"{name}: repaired\n" for name, _kind in names),
            },
        }

    def run(self, resources: Resources) -> None:
        """Repair the partitions whose finding is of the kind, one shard path after the other.

        With several shard paths, one that cannot be repaired does not keep the others.
        """
        self._check_mode = resources.check_mode
        hot, cold = resources.open_pair()
        journal = resources.open_journal()
        self._check_ensembles(hot, cold)
        probe = probe_of(self._params["clickhouse"])
        progress = resources.open_progress("partitions", "parts")
        context = RepairContext(
            hot,
            cold,
            resources.clock,
            journal,
            self._locks.keeper("part_repair", hot, cold, resources.clock),
            AskServers(probe, SERVERS_AT_ONCE),
            probe,
            pace=resources.open_pace(self._pace, progress.announce),
            at_once=SERVERS_AT_ONCE,
        )
        paths = first_few([each.path for each in self._layouts])
        work = {"work": f"{self._params['kind']} of {paths}", "shard_paths": len(self._layouts)}
        with journalled_run(journal, "part_repair", (hot, cold), work, self._counts):
            begun = resources.clock.now()
            try:
                if self._kind is None:
                    self._repair_all(context, progress)
                else:
                    self._repair_steps(context, self._steps, progress)
            finally:
                self._seconds = max(0.0, resources.clock.now() - begun)

    def _repair_all(self, context: RepairContext, progress: Progress) -> None:
        """Repair all kinds in their order, in rounds, until a round repairs nothing."""
        for _round in range(_MOST_ROUNDS):
            self._last = [ShardRepair(path, kind) for kind, path in self._found(context)]
            self._steps += self._last
            self._repair_steps(context, self._last, progress)
            if not any(each.report.repaired for each in self._last):
                return

    def _found(self, context: RepairContext) -> list[tuple[FindingKind, str]]:
        """Return the kinds to repair with their shard paths, in the order in which the repairs work."""
        found: dict[FindingKind, list[str]] = {kind: [] for kind in REPAIR_ORDER}
        for path in (each.path for each in self._layouts if each.path not in self._errors):
            with self._of(path):
                for kind in found.keys() & kinds_found(context, path, self._only):
                    found[kind].append(path)
        return [(kind, path) for kind, paths in found.items() for path in paths]

    def _repair_steps(self, context: RepairContext, steps: Sequence[ShardRepair], progress: Progress) -> None:
        for step in steps:
            if step.layout.path not in self._errors:
                self._repair(context, step, progress)

    def _check_ensembles(self, hot: ZnodeStore, cold: ZnodeStore) -> None:
        """Check before the first write that hot and cold are two ensembles with at least one of the tables.

        With several shard paths, one that may not be read is left out. Raises SameEnsemble; NoSuchTable if
        neither ensemble has any of the tables: then the chroot is wrong.
        """
        is_there = False
        for path in (each.path for each in self._layouts):
            with self._of(path):
                check_different_history(hot, cold, path)
                is_there = is_there or any(each.read([path])[0] is not None for each in (hot, cold))
        # A table that was dropped since its audit is in neither ensemble, and must not keep the others. Only
        # a znode that exists can be denied.
        if not is_there and not self._errors:
            raise no_table(self._layouts[0])

    @contextmanager
    def _of(self, path: str) -> Iterator[None]:
        """Keep an error of one shard path of several; raise an error that concerns all of them."""
        try:
            yield
        except PartMoveError as error:
            concerns_all = isinstance(error, (EnsembleError, PausedTooLong)) and (
                not isinstance(error, AccessDenied) or isinstance(error, SessionRefused)
            )
            if self._is_single or concerns_all:
                raise
            self._errors[path] = error

    def _repair(self, context: RepairContext, shard: ShardRepair, progress: Progress) -> None:
        """Repair one shard path. With several, its error is kept, unless it concerns all of them."""
        path, kind = shard.layout.path, shard.kind

        def report_progress(expected: int, done: int) -> None:
            progress.expect(expected)
            progress.add(done, 0, f"of the kind {kind.value} at {path}")

        with self._of(path), closing(shard):
            if not self._check_mode:
                shard.backup = BackupFile(self._params["backup"], self._header(context, shard))
            own = context._replace(
                hot=self._saving(context, context.hot, "hot", shard),
                cold=self._saving(context, context.cold, "cold", shard),
                backup="" if shard.backup is None else shard.backup.planned,
                on_progress=report_progress,
                save_left=shard.save_left,
            )
            options = replace(self._options, registrations=self._registrations(shard.layout))
            shard.report = repair_shard(own, path, kind, options, only=self._only)

    def _header(self, context: RepairContext, shard: ShardRepair) -> BackupHeader:
        path = shard.layout.path
        in_hot = context.hot.read([path])[0]
        czxid, ctime = (0, 0) if in_hot is None else (in_hot.stat.czxid, in_hot.stat.ctime)
        pair = read_pair(context.hot, context.cold, self._locks.root)
        moment = format_time(int(context.clock.now() * 1000))
        return BackupHeader(moment, path, czxid, shard.kind.value, ctime, pair.hot_id, pair.cold_id)

    def _saving(
        self, context: RepairContext, store: ZnodeStore, name: str, shard: ShardRepair
    ) -> SavingStore:
        def announce(multis: Sequence[Sequence[str]]) -> None:
            rows = ({"shard_path": shard.layout.path, "operations": list(each)} for each in multis)
            context.journal.record(Event.WRITING, rows)

        return SavingStore(store, name, shard.save, announce, self._done)

    def _counts(self) -> dict[str, int]:
        """Return the numbers of repaired and left partitions."""
        return {
            "repaired": sum(each.counts()["repaired"] for each in self._steps),
            "left": sum(each.counts()["left"] for each in self._last),
        }

    def _message(self, repaired: int, left: int) -> str:
        would = "would be " if self._check_mode else ""
        return f"{repaired} {would}repaired, {left} left"

    def _read_options(self) -> RepairOptions:
        """Return the options, without registrations."""
        params = self._params
        if self._kind is not None and self._kind not in REMEDIES:
            raise PartMoveError(
                f"Partitions of the kind {self._kind.value} are not repaired by a module",
                remedy=self._kind.remedy or "They are consistent",
            )
        # A file that cannot be read ends the run before its first write.
        for layout in self._layouts[:1]:
            self._registrations(layout)
        return RepairOptions(
            quiet=parse_duration(params["quiet"], "quiet"),
            cold_is_lost=params["cold_is_lost"],
            replica_is_gone=params["replica_is_gone"],
            disks_are_mounted=params["disks_are_mounted"],
            without_hashes=params["without_hashes"],
        )

    def _registrations(self, layout: ShardLayout) -> Sequence[SavedZnode]:
        path = self._params["registrations"]
        return () if path is None else read_registrations(path, layout)


def _partition_id(text: str) -> str:
    """Check an id. An empty text is valid: it stands for registrations whose names are not part names."""
    return check_partition_id(text, "partitions") if text else text
