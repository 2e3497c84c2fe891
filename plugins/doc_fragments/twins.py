# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Documentation of the options that modules for tables and cold twins share."""

from __future__ import annotations


class ModuleDocFragment:
    """Fragments for all such modules, for modules that create twins, and for modules with locks or records.

    A module lists these fragments before clickhouse_server.replicas, which documents the rest of
    ``clickhouse``.
    """

    DOCUMENTATION = r"""
    options:
      clickhouse:
        description: How to query the ClickHouse servers of the replicas, and execute statements on them.
        required: true
      twin:
        description: Name of the twin in the database of the table; C({table}) stands for the name of the
          table.
        type: str
        default: '{table}_cold'
"""

    PLACES = r"""
    options:
      ensemble:
        description: Name of the auxiliary ensemble in the configuration of the servers.
        type: str
        default: cold
      path:
        description: Path of the twin in the auxiliary ensemble; C({path}) stands for the path of the table.
        type: str
        default: '{path}_cold'
"""

    RECORDS = r"""
    options:
      coordination_root:
        description:
          - Znode in the hot ensemble with the locks, epochs and records.
          - Use the same value in every run of every module for tables and their twins.
        type: str
        default: /partmove
"""
