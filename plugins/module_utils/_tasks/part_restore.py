# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The task of part_restore: restore the znodes that a repair deleted or changed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .._partmove.journal.events import Event
from .._partmove.lease.two_ensembles import check_different_history
from .._partmove.patched.repair.restore import RestoreContext, restore
from .._partmove.patched.repair.restore_report import RestoreReport
from .._partmove.patched.repair.restore_rows import Action
from .._partmove.text import first_few
from .backup_file import read_backup
from .journal_file import journalled_run
from .resources import SERVERS_AT_ONCE, LockOptions, Resources, probe_of


class PartRestore:
    """Implements Task for part_restore."""

    failure = ""

    def __init__(self, params: Mapping[str, Any]) -> None:
        """Read the options of the module. Raises PartMoveError for invalid values."""
        self._path: str = params["backup"]
        self._clickhouse = params["clickhouse"]
        self._backup = read_backup(self._path)
        self._locks = LockOptions.of(params)
        self._report = RestoreReport()

    def result(self) -> dict[str, Any]:
        """Return the result so far."""
        rows = sorted(self._report.rows)
        created, set_back = (self._paths(each) for each in (Action.CREATED, Action.SET_BACK))
        return {
            "changed": bool(created or set_back),
            "msg": self._message(),
            "shard_path": self._backup.header.shard_path,
            "created": created,
            "set_back": set_back,
            "rows": [{**row._asdict(), "action": row.action.value} for row in rows],
            "diff": {
                "before": "".join(f"{each} is missing\n" for each in created)
                + "".join(f"{each} has other data\n" for each in set_back),
                "after": "".join(f"{each} as in the backup\n" for each in (*created, *set_back)),
            },
        }

    def run(self, resources: Resources) -> None:
        """Restore the znodes."""
        hot, cold = resources.open_pair()
        journal = resources.open_journal()
        path = self._backup.header.shard_path
        check_different_history(hot, cold, path)
        leases = self._locks.keeper("part_restore", hot, cold, resources.clock)
        context = RestoreContext(
            hot, cold, leases, probe_of(self._clickhouse), resources.clock, SERVERS_AT_ONCE
        )
        work = {"work": self._path, "shard_paths": 1}
        with journalled_run(journal, "part_restore", (hot, cold), work, self._counts):
            saved = len(self._backup.saved)
            journal.record(Event.RESTORING, [{"shard_path": path, "backup": self._path, "znodes": saved}])
            try:
                restore(context, self._backup, self._report)
            finally:
                counts = self._counts()
                del counts["left"]
                journal.record(Event.RESTORED, [{"shard_path": path, **counts}])

    def _paths(self, action: Action) -> list[str]:
        return [f"{row.ensemble}: {row.path}" for row in self._report.of(action)]

    def _counts(self) -> dict[str, int]:
        return {each.value: len(self._report.of(each)) for each in Action}

    def _message(self) -> str:
        counts, left = self._counts(), self._report.of(Action.LEFT)
        restored = counts["created"] + counts["set_back"]
        text = (
            f"{restored} restored: {counts['created']} created, {counts['set_back']} set back;"
            f" {counts['unchanged']} unchanged, {counts['left']} left"
        )
        reasons = list(dict.fromkeys(row.reason for row in left))
        return f"{text}: {first_few(reasons)}" if reasons else text
