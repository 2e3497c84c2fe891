# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a real server has in its configuration besides what an engine in a process of its own has."""

from __future__ import annotations

from collections.abc import Mapping
from xml.sax.saxutils import escape

_NEWER_MERGE_TREE = {
    "max_postpone_time_for_failed_replicated_fetches_ms": (25, 4),
    "max_postpone_time_for_failed_replicated_merges_ms": (25, 4),
    "max_postpone_time_for_failed_replicated_tasks_ms": (25, 4),
}
"""Settings of tables, and the first version that knows each; a server refuses one that it does not know."""


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
    return {
        name: value
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
