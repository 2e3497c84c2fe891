# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Judges the queues of distributed DDL in a census."""

from __future__ import annotations

from collections.abc import Iterator

from ..text import shown_time
from .advice import Advice, AdviceKind
from .census import Census
from .settings import CensusLimits

_MILLISECONDS = 1000
_DDL_SECONDS = 14 * 86_400


def judge_queues(census: Census, limits: CensusLimits, now: int) -> Iterator[Advice]:
    """Yield advice about each readable queue of distributed DDL; ``now`` in milliseconds since 1970."""
    for path, tasks in sorted(census.queues.items()):
        if not census.is_readable(path):
            continue
        created = {name: task.created for name, task in tasks.items()}
        too_many = sorted(created)[: max(0, len(created) - limits.ddl_tasks)]
        too_old = [name for name, time in created.items() if now - time > _DDL_SECONDS * _MILLISECONDS]
        superfluous = {*too_many, *too_old}
        if superfluous:
            yield Advice(
                AdviceKind.DDL_QUEUE,
                path,
                "",
                sum(tasks[name].znodes for name in superfluous),
                f"It has {len(created):,} tasks, the oldest of {shown_time(min(created.values()))};"
                f" {len(superfluous):,} are beyond the newest {limits.ddl_tasks:,} or older than two weeks.",
            )
