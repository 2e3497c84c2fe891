# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Documentation of what modules that work on a table and its cold twin have in common."""

from __future__ import annotations


class ModuleDocFragment:
    """Fragments for all of these, for those that may create twins, and for those that have locks or records.

    A module names them before the fragment clickhouse_server.replicas, which has the rest of the option.
    """

    DOCUMENTATION = r"""
    options:
      clickhouse:
        description: How to ask the ClickHouse servers of the replicas, and to tell them what to do.
        required: true
      twin:
        description: Name of a twin, in the database of the table; C({table}) stands for the name of that.
        type: str
        default: '{table}_cold'
"""

    PLACES = r"""
    options:
      ensemble:
        description: The name of the auxiliary ensemble in the configuration of the servers.
        type: str
        default: cold
      path:
        description: Path of a twin in that ensemble; C({path}) stands for the path of its table.
        type: str
        default: '{path}_cold'
"""

    RECORDS = r"""
    options:
      coordination_root:
        description:
          - Znode in the hot ensemble below which locks, epochs and records are kept.
          - It must be the same in every run of every module that works on a table and its twin.
        type: str
        default: /partmove
"""
