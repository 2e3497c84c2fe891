#!/usr/bin/python
# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: guard_lease
short_description: Take or release a lease, so that only one host does scheduled work
version_added: 1.0.0
description:
  - Takes a lease that excludes runs on other hosts, so that only a single run does scheduled work.
  - The lease is a znode in the hot ensemble, below O(coordination_root). The lease ends when its owner
    releases the lease, or O(ttl) after the owner took or prolonged the lease, by the clock of the ensemble.
    Then the next run can take the lease. The clock of the host that runs the module does not matter.
  - The lease only prevents duplicate work. The locks of the other modules protect writes to tables.
notes:
  - The playbook C(olap.partmove.guard) uses this module; see C(docs/operate/guard.md).
  - A lease of another owner is no failure. Check RV(taken).
author:
  - olap.partmove contributors (@olap-partmove)
extends_documentation_fragment:
  - olap.partmove.ensembles.one
  - olap.partmove.attributes
  - olap.partmove.attributes.action_group
attributes:
  check_mode:
    support: full
    details: Uses the clock of this host to decide whether a lease has expired, because nothing is written.
  diff_mode:
    support: full
  idempotent:
    support: full
    details: Taking the lease again prolongs the lease, which counts as no change.
options:
  coordination_root:
    description: Znode with the leases, the same in every run.
    type: str
    default: /partmove
  name:
    description: "Name of the lease: lower-case letters, digits, C(_) and C(-). Leases with different names
      are independent."
    type: str
    default: guard
  state:
    description:
      - V(taken) takes the lease if the lease is free or expired, and prolongs the lease of O(owner).
      - V(given_back) releases the lease if O(owner) has it, and ignores a lease of another owner.
    type: str
    choices: [taken, given_back]
    default: taken
  owner:
    description: Description of the owner for people, different for each run.
    type: str
    required: true
  ttl:
    description:
      - Duration of the lease from now, in seconds or with a unit such as V(90m) or V(4h).
      - The O(ttl) of another host does not change this duration.
    type: str
    default: 4h
seealso:
  - module: olap.partmove.part_audit_info
  - module: olap.partmove.part_repair
"""

EXAMPLES = r"""
- name: Take the lease
  olap.partmove.guard_lease:
    hot:
      hosts: [hot1:2181, hot2:2181, hot3:2181]
    owner: the cron job on control1, process 4711
    ttl: 2h
  register: lease

- name: Stop if another run has the lease
  ansible.builtin.meta: end_play
  when: not lease.taken

- name: Release the lease
  olap.partmove.guard_lease:
    hot:
      hosts: [hot1:2181, hot2:2181, hot3:2181]
    owner: the cron job on control1, process 4711
    state: given_back
"""

RETURN = r"""
taken:
  description: Whether O(owner) has the lease now; in check mode, would have the lease.
  returned: when the options are valid
  type: bool
owner:
  description: Current owner of the lease; empty for a free lease.
  returned: when the options are valid
  type: str
  sample: guard on control1, 20261122T081500Z-71350211
seconds_left:
  description: Remaining duration in seconds; 0 with O(state=given_back).
  returned: when the options are valid
  type: int
  sample: 14400
former_owner:
  description: Owner before this run; empty for a free lease. With O(state=taken), a value other than
    RV(owner) means that an expired lease was taken over.
  returned: when the options are valid
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
            "coordination_root": argspec.COORDINATION_ROOT,
            "name": {"type": "str", "default": "guard"},
            "state": {"type": "str", "choices": ["taken", "given_back"], "default": "taken"},
            "owner": {"type": "str", "required": True},
            "ttl": {"type": "str", "default": "4h"},
        },
        supports_check_mode=True,
    )
    run(module, _task)


def _task(params: Mapping[str, Any]) -> Task:
    from ansible_collections.olap.partmove.plugins.module_utils._tasks.guard_lease import GuardLease

    return GuardLease(params)


if __name__ == "__main__":
    main()
