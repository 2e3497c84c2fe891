# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Explains why a replicated table cannot be used, from what its server shows of it."""

from __future__ import annotations

from .._partmove.twin.move.tables import TwinTable

_NO_NODE = ("No node", "node doesn't exist", "ZNONODE")


def has_lost_znodes(table: TwinTable, zookeeper_exception: str) -> bool:
    """Whether the ensemble no longer has the znodes of the table, by the column of ``system.replicas``."""
    return not table.total_replicas and any(each in zookeeper_exception for each in _NO_NODE)


def problem_of(table: TwinTable, zookeeper_exception: str, is_read_only: int) -> str:
    """Return why the table cannot be used; "" if it can.

    zookeeper_exception: the column of ``system.replicas``. is_read_only: not 0 if the table takes no writes,
    or has no session.
    """
    if has_lost_znodes(table, zookeeper_exception):
        return (
            f"has lost its znodes in the ensemble {table.ensemble}: run SYSTEM RESTART REPLICA"
            f" {table.sql_name} and SYSTEM RESTORE REPLICA {table.sql_name} on every replica, which create"
            " them from the parts"
        )
    return "has no session with its ensemble" if is_read_only else ""
