# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Documentation of what modules that move partitions have in common."""

from __future__ import annotations


class ModuleDocFragment:
    """Options of part_move and partition_move."""

    DOCUMENTATION = r"""
    options:
      partitions:
        description: The partitions to move, in place of a plan file.
        type: list
        elements: dict
        suboptions:
          shard_path:
            description: ZooKeeper path of the table, as C(system.replicas) has it in C(zookeeper_path).
            type: str
            required: true
          partition:
            description: Id of the partition, as C(system.parts) has it in C(partition_id).
            type: str
            required: true
      max_listed:
        description: How many partitions each list of the result may have. The counts are always complete.
        type: int
        default: 1000
"""
