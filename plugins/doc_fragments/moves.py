# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Documentation of common options of modules with moves of partitions."""

from __future__ import annotations


class ModuleDocFragment:
    """Fragments for all modules with moves, and for modules with selected partitions."""

    DOCUMENTATION = r"""
    options:
      max_listed:
        description: Maximum number of partitions in each list of the result. The counts are always complete.
        type: int
        default: 1000
"""

    CHOSEN = r"""
    options:
      plan:
        description:
          - Path of a plan file of the role P(olap.partmove.partition_classify#role), on the host that runs
            the module.
          - A truncated or edited file is refused.
          - A plan of another cluster is refused before the first change, also in check mode. The header of a
            plan names znodes of hot, with the transactions and times of their creation.
          - Only rows with O(state) are carried out. The other rows are returned in RV(other_state).
          - Exactly one of O(plan), O(partitions) and O(shard_paths) is needed.
        type: path
      partitions:
        description: The partitions to move, instead of a plan file.
        type: list
        elements: dict
        suboptions:
          shard_path:
            description: ZooKeeper path of the table, C(zookeeper_path) in C(system.replicas).
            type: str
            required: true
          partition:
            description: Id of the partition, C(partition_id) in C(system.parts).
            type: str
            required: true
      fail_when_deferred_by:
        description:
          - Names of gates. The module fails at its end if one of these gates has deferred a partition, also
            in check mode. The other partitions are moved.
          - For gates that must not close in your cluster, such as V(active_on_disk) or V(twin_ready). Without
            this option, a run of every night would only report a count of them.
          - Whatever this option is, the module fails before its first write if no ClickHouse server of any
            table can be asked, for example because of a wrong password. It fails at its end if this applies
            to some of the tables.
        type: list
        elements: str
        default: []
      share:
        description:
          - Share of the shard paths for this run, such as V(2/4) for the second of four shares. V(1/1) means
            all shard paths.
          - For several simultaneous runs in separate processes, if one process cannot use the capacity of the
            ensembles. All runs need the same plan or the same list.
          - O(max_parts_per_second) limits each run separately.
        type: str
        default: 1/1
"""
