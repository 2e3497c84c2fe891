# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is in the configuration of servers of some versions and not of others."""

from __future__ import annotations

from collections.abc import Mapping
from xml.sax.saxutils import escape

_NEWER_MERGE_TREE = {
    "max_cleanup_delay_period": (23, 6),
    "cleanup_thread_preferred_points_per_iteration": (23, 6),
    "max_merge_selecting_sleep_ms": (23, 6),
    "max_postpone_time_for_failed_replicated_fetches_ms": (25, 4),
    "max_postpone_time_for_failed_replicated_merges_ms": (25, 4),
    "max_postpone_time_for_failed_replicated_tasks_ms": (25, 4),
}
"""Settings of tables, and a version that knows each, and no older one of the ladder does.

A server refuses a setting that it does not know.
"""

_PAUSES = (23, 6)
_WITHOUT_PAUSES = {"merge_selecting_sleep_ms": 3000, "cleanup_delay_period": 3}
"""For versions before _PAUSES, which do both at one pace, also for a table that has nothing to do."""


def users_xml(users: Mapping[str, str]) -> str:
    """Return the text of users.xml: each user may do everything, from this machine."""
    return f"""\
<?xml version="1.0"?>
<clickhouse>
    <profiles><default/></profiles>
    <quotas><default/></quotas>
    <users>
{"".join(_user(name, password) for name, password in users.items())}\
    </users>
</clickhouse>
"""


def known_merge_tree(version: str, settings: Mapping[str, int | str]) -> dict[str, int | str]:
    """Those of the settings that a version such as 24.8 knows."""
    year, month = (int(number) for number in version.split(".")[:2])
    pace = {} if (year, month) >= _PAUSES else _WITHOUT_PAUSES
    return {
        name: pace.get(name, value)
        for name, value in settings.items()
        if (year, month) >= _NEWER_MERGE_TREE.get(name, (0, 0))
    }


def _user(name: str, password: str) -> str:
    return f"""\
        <{name}>
            <password>{escape(password)}</password>
            <networks><ip>127.0.0.1</ip></networks>
            <profile>default</profile>
            <quota>default</quota>
            <access_management>1</access_management>
        </{name}>
"""
