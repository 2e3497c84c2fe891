#!/usr/bin/python
# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: part_restore
short_description: Restore znodes that a repair deleted or changed
version_added: 1.0.0
description:
  - Reads a backup file of M(olap.partmove.part_repair). A repair writes this file before each deletion or
    change of a znode. The module creates missing znodes, and resets the data of changed znodes.
  - Works under the lock of the shard path, and queries the servers of all replicas.
  - Restores each partition whole or not at all, and only if nothing changed since the repair. State, the
    names of the parts in both ensembles, and each znode of the backup have to be as the repair left them.
  - Leaves a partition that would not be consistent afterwards. A restore cannot make a finding that the audit
    does not report now.
  - Refuses a table that was recreated after the backup, and a backup of other ensembles.
notes:
  - Znodes that the repair created stay.
  - The marker of the shard path in cold and the record of the cold ensemble in hot are never written.
  - For a repair that was killed, and for a backup of an earlier version, the module creates missing znodes,
    but resets none.
author:
  - olap.partmove contributors (@olap-partmove)
extends_documentation_fragment:
  - olap.partmove.ensembles
  - olap.partmove.ensembles.lock
  - olap.partmove.clickhouse_server.replicas
  - olap.partmove.journal
  - olap.partmove.attributes
  - olap.partmove.attributes.action_group
attributes:
  check_mode:
    support: full
  diff_mode:
    support: full
  idempotent:
    support: full
options:
  backup:
    description: The backup file, on the host that runs the module.
    type: path
    required: true
  clickhouse:
    required: true
seealso:
  - module: olap.partmove.part_repair
  - module: olap.partmove.part_audit_info
  - module: olap.partmove.journal_info
"""

EXAMPLES = r"""
- name: Restore the znodes that a repair removed
  olap.partmove.part_restore:
    hot:
      hosts: [hot1:2181, hot2:2181, hot3:2181]
    cold:
      hosts: [cold1:2181, cold2:2181, cold3:2181]
    clickhouse:
      user: monitor
      password: "{{ monitor_password }}"
    backup: "{{ repaired.backup }}"
  check_mode: true
  register: restored

- name: Show what would be done with each znode
  ansible.builtin.debug:
    var: restored.rows
"""

RETURN = r"""
shard_path:
  description: The shard path in the backup.
  returned: always
  type: str
  sample: /clickhouse/tables/01/hits
created:
  description: Created znodes, with their ensemble.
  returned: always
  type: list
  elements: str
  sample: ["cold: /clickhouse/tables/01/hits/replicas/r1/parts/20191201_0_0_0"]
set_back:
  description: Znodes with reset data, with their ensemble.
  returned: always
  type: list
  elements: str
  sample: ["hot: /clickhouse/tables/01/hits/block_numbers/20191201/State"]
rows:
  description:
    - Each znode of the backup, sorted by ensemble and path. After an error, the rows that were not reached
      are missing.
  returned: always
  type: list
  elements: dict
  contains:
    ensemble:
      description: V(hot) or V(cold).
      type: str
    path:
      description: Path of the znode.
      type: str
    action:
      description: V(created), V(set_back), V(unchanged) or V(left); in check mode, the planned action.
      type: str
    reason:
      description: Reason for leaving the znode as it is; otherwise empty.
      type: str
    remedy:
      description: Next step for the partition of the znode; otherwise empty.
      type: str
"""

from collections.abc import Mapping
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.olap.partmove.plugins.module_utils._tasks import argspec
from ansible_collections.olap.partmove.plugins.module_utils._tasks.runner import Task, run


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "hot": argspec.ensemble(),
            "cold": argspec.ensemble(),
            "coordination_root": argspec.COORDINATION_ROOT,
            "lock_wait": argspec.LOCK_WAIT,
            "clickhouse": argspec.clickhouse(required=True),
            "backup": {"type": "path", "required": True},
            "journal": {"type": "path"},
        },
        supports_check_mode=True,
    )
    run(module, _task)


def _task(params: Mapping[str, Any]) -> Task:
    from ansible_collections.olap.partmove.plugins.module_utils._tasks.part_restore import PartRestore

    return PartRestore(params)


if __name__ == "__main__":
    main()
