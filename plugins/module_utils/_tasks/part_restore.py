# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The task of part_restore: restore the znodes that a repair deleted or changed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .._partmove.journal.events import Event
from .._partmove.lease.two_ensembles import check_different_history
from .._partmove.patched.repair.restore import Restored, restore
from .backup_file import read_backup
from .journal_file import journalled_run
from .resources import LockOptions, Resources


class PartRestore:
    """Implements Task for part_restore."""

    failure = ""

    def __init__(self, params: Mapping[str, Any]) -> None:
        """Read the options of the module. Raises PartMoveError for invalid values."""
        self._backup: str = params["backup"]
        self._header, self._saved = read_backup(self._backup)
        self._locks = LockOptions.of(params)
        self._done = Restored()

    def result(self) -> dict[str, Any]:
        """Return the result so far."""
        done = self._done
        return {
            "changed": bool(done.created or done.set_back),
            "msg": f"{len(done.created)} created, {len(done.set_back)} set back, {done.unchanged} unchanged",
            "shard_path": self._header.shard_path,
            "created": done.created,
            "set_back": done.set_back,
            "diff": {
                "before": "".join(f"{each} has other data\n" for each in done.set_back),
                "after": "".join(f"{each} as in the backup\n" for each in (*done.created, *done.set_back)),
            },
        }

    def run(self, resources: Resources) -> None:
        """Restore the znodes."""
        hot, cold = resources.open_pair()
        journal = resources.open_journal()
        path = self._header.shard_path
        check_different_history(hot, cold, path)
        leases = self._locks.keeper("part_restore", hot, cold, resources.clock)
        work = {"work": self._backup, "shard_paths": 1}
        with journalled_run(journal, "part_restore", (hot, cold), work, self._counts):
            rows = [{"shard_path": path, "backup": self._backup, "znodes": len(self._saved)}]
            journal.record(Event.RESTORING, rows)
            try:
                restore(hot, cold, leases, self._header, self._saved, self._done)
            finally:
                journal.record(Event.RESTORED, [{"shard_path": path, **self._counts()}])

    def _counts(self) -> dict[str, int]:
        done = self._done
        return {"created": len(done.created), "set_back": len(done.set_back), "unchanged": done.unchanged}
