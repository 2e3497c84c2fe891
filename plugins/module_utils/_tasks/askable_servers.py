# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Check whether the servers of tables can be asked, before a run and also without anything to move.

A move asks the servers late, and only about partitions that passed all other gates. So wrong credentials
would defer every partition of every run, without a failure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from .._clickhouse.replica_search import ReplicaHost
from .._clickhouse.versions import VersionRefused
from .._partmove.errors import PartMoveError
from .._partmove.formats.layout import ShardLayout
from .._partmove.text import first_few
from .._partmove.tree.ports import ZnodeReader
from .._partmove.tree.znodes import Znode
from .._partmove.zip_strict import zip_strict

_PATHS_AT_ONCE = 500


class ReplicaSearch(Protocol):
    """Asks servers for their replicas."""

    def problems(self, tables: Mapping[str, Sequence[ReplicaHost]]) -> Mapping[str, PartMoveError]:
        """Return shard path → why no server of the table can be asked; an askable table is no key."""


def check_servers(hot: ZnodeReader, shard_paths: Sequence[str], search: ReplicaSearch) -> str:
    """Return a sentence about the tables whose servers cannot be used; empty without such a table.

    Servers of a table cannot be used if none can be asked, or if the version of one is unfit. Raises
    PartMoveError if this holds for all tables: a run could move nothing.
    """
    tables = dict(_replicas_of(hot, shard_paths))
    problems = search.problems(tables)
    if not problems:
        return ""
    unfit = sorted(path for path, error in problems.items() if isinstance(error, VersionRefused))
    unasked = sorted(problems.keys() - set(unfit))
    if len(problems) == len(tables):
        if unfit:
            raise problems[unfit[0]]
        first = problems[unasked[0]]
        whose = f"of {unasked[0]}" if len(tables) == 1 else f"of any of the {len(tables)} tables"
        raise PartMoveError(
            f"No ClickHouse server {whose} can be asked: {first.message}", remedy=first.remedy
        )
    sentences = []
    if unfit:
        sentences.append(f"No partition of {first_few(unfit)} can be moved: {problems[unfit[0]]}")
    if unasked:
        sentences.append(f"No ClickHouse server of {first_few(unasked)} can be asked: {problems[unasked[0]]}")
    return " ".join(sentences)


def _replicas_of(hot: ZnodeReader, shard_paths: Sequence[str]) -> Iterator[tuple[str, list[ReplicaHost]]]:
    """Yield each shard path that has replicas in hot, with the replicas."""
    for start in range(0, len(shard_paths), _PATHS_AT_ONCE):
        layouts = [ShardLayout(path) for path in shard_paths[start : start + _PATHS_AT_ONCE]]
        listed = hot.children([layout.replicas for layout in layouts])
        names = [sorted(each or ()) for each in listed]
        paths = [layout.replica(name).host for layout, each in zip_strict(layouts, names) for name in each]
        hosts = dict(zip_strict(paths, hot.read(paths)))
        for layout, each in zip_strict(layouts, names):
            if each:
                yield layout.path, [_with_host(name, hosts[layout.replica(name).host]) for name in each]


def _with_host(name: str, host: Znode | None) -> ReplicaHost:
    return ReplicaHost(name, "" if host is None else host.data.decode(errors="replace"))
