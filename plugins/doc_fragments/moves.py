# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Documentation of what modules that move partitions have in common."""

from __future__ import annotations


class ModuleDocFragment:
    """Fragments for whatever moves partitions, and for modules that are told which."""

    DOCUMENTATION = r"""
    options:
      max_listed:
        description: How many partitions each list of the result may have. The counts are always complete.
        type: int
        default: 1000
"""

    CHOSEN = r"""
    options:
      plan:
        description:
          - Path of a plan file, on the host that the module runs on, as the role
            P(olap.partmove.partition_classify#role) writes it.
          - A file that was cut short or edited is refused.
          - A plan of another cluster is refused before anything is done, also in check mode. Its header tells
            which znodes of hot it is of, and by which transaction and when these were created.
          - Only rows that want O(state) are carried out. The others are returned in RV(other_state).
          - Exactly one of O(plan), O(partitions) and O(shard_paths) is needed.
        type: path
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
      share:
        description:
          - Which share of the shard paths this run works on, as V(2/4) for the second of four. V(1/1) is all.
          - For several runs at a time, each a process of its own, where one is not enough to keep the
            ensembles busy. All of them need the same plan, or the same list.
          - A limit of parts in a second is for each run.
        type: str
        default: 1/1
"""
