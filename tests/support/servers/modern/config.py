# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The configuration file of a modern server that talks to nobody but its ensembles and the other replicas."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from xml.sax.saxutils import escape

from support.servers.clickhouse_config import FAST_MERGE_TREE, ZooKeeperSource

MERGE_TREE: Mapping[str, int | str] = {
    **FAST_MERGE_TREE,
    "max_cleanup_delay_period": 1,
    "cleanup_thread_preferred_points_per_iteration": 0,
    # Merges are looked for after this many milliseconds, and not after a minute in which there were none.
    "merge_selecting_sleep_ms": 200,
    "max_merge_selecting_sleep_ms": 1000,
    # A fetch that failed once is tried again at once, and not after a minute.
    "max_postpone_time_for_failed_replicated_fetches_ms": 1000,
    "max_postpone_time_for_failed_replicated_merges_ms": 1000,
    "max_postpone_time_for_failed_replicated_tasks_ms": 1000,
}
"""Settings that make a server do everything soon."""

_SERVER: Mapping[str, int | str] = {
    "timezone": "UTC",
    # Every second, these are much of what an idle server does.
    "asynchronous_metrics_update_period_s": 600,
    # Each of its threads, 16 by default, looks a hundred times a second whether an insert is in its queue.
    "async_insert_threads": 1,
    # None in chDB; without them replicated tables stay read-only.
    "background_schedule_pool_size": 16,
    "background_fetches_pool_size": 2,
    "background_move_pool_size": 1,
    "background_common_pool_size": 2,
    "mark_cache_size": 16 * 1024 * 1024,
    "uncompressed_cache_size": 0,
}


@dataclass(frozen=True)
class OwnElements:
    """What the configuration has of one kind of servers alone.

    more: further elements.
    background_pool_size: threads that merge.
    """

    more: str = ""
    background_pool_size: int = 2


_OF_THE_NEWEST = OwnElements()


def config_xml(
    log: Path,
    zookeeper: ZooKeeperSource,
    auxiliary: Mapping[str, ZooKeeperSource],
    sessions_path: str | None,
    macros: Mapping[str, str],
    merge_tree: Mapping[str, int | str],
    *,
    own: OwnElements = _OF_THE_NEWEST,
) -> str:
    """Return the text of the file.

    auxiliary: name → ensemble; tables are in one of them by the path "name:/path".
    sessions_path: a path of its own. A server ends other sessions that are noted there as those of its UUID,
        which all these servers share. So it need not wait until those of before a SIGKILL expire. Versions
        before 24 know no such path.
    merge_tree: all settings of tables.
    """
    hot = replace(zookeeper, sessions_path=sessions_path)
    others = "\n".join(
        replace(source, sessions_path=sessions_path).xml(name) for name, source in auxiliary.items()
    )
    return f"""\
<?xml version="1.0"?>
<clickhouse>
    <logger>
        <level>debug</level>
        <log>{log}</log>
    </logger>
{_elements({**_SERVER, "background_pool_size": own.background_pool_size})}
{hot.xml()}
    <auxiliary_zookeepers>
{others}
    </auxiliary_zookeepers>
    <macros>
{_elements(macros)}
    </macros>
    <merge_tree>
{_elements(merge_tree)}
    </merge_tree>
{own.more}\
</clickhouse>
"""


def _elements(values: Mapping[str, int | str]) -> str:
    return "\n".join(f"        <{name}>{escape(str(value))}</{name}>" for name, value in values.items())
