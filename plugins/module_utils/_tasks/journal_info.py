# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The task of journal_info: report the events of runs from a journal."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .._partmove.errors import PartMoveError
from .._partmove.formats.layout import check_shard_path
from .._partmove.formats.names import check_partition_id
from .._partmove.journal.history import History, HistoryQuery, parse_moment
from .._partmove.text import count_of
from .journal_file import default_path
from .resources import Resources


class JournalInfo:
    """Implements Task for journal_info."""

    failure = ""

    def __init__(self, params: Mapping[str, Any]) -> None:
        """Read the options of the module. Raises PartMoveError for invalid values."""
        path, shard_path, partition = params["path"], params["shard_path"], params["partition"]
        most, since = params["max_listed"], params["since"]
        if most < 0:
            raise PartMoveError(f"max_listed is {most}", remedy="Give 0 or more")
        self._path = default_path() if path is None else Path(path)
        query = HistoryQuery(
            None if shard_path is None else check_shard_path(shard_path),
            None if partition is None else check_partition_id(partition, "partition"),
            params["run"],
            None if since is None else parse_moment(since, "since"),
        )
        self._history = History(query, most)

    def result(self) -> dict[str, Any]:
        """Return the findings so far."""
        history, runs = self._history, self._history.runs
        return {
            "changed": False,
            "msg": f"{count_of(history.matched, 'event')} of {count_of(len(runs), 'run')}",
            "path": str(self._path),
            "events": history.events,
            "count": history.matched,
            "runs": runs,
            "incomplete": history.incomplete,
        }

    def run(self, _resources: Resources) -> None:
        """Read the file."""
        try:
            with self._path.open("rb") as lines:
                self._history.read(lines, str(self._path))
        except OSError as error:
            raise PartMoveError(
                f"The journal {self._path} cannot be read: {error.strerror}",
                remedy="Give as path a journal that this user may read, on the host that runs the module",
            ) from error
