#!/usr/bin/python
# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: guard_lease
short_description: Take the turn to look after the tables, or give it back
version_added: 0.1.0
description:
  - Lets runs on several hosts exclude each other, so that what one does on a schedule is not done by another
    one at the same time.
  - A turn is a znode in the hot ensemble, below O(coordination_root). It lasts until it is given back, or
    until O(ttl) has passed by the clock of the ensemble; then whoever comes first may take it over. The clock
    of the host that this runs on decides nothing.
  - A turn keeps runs from doing the same work twice. What is written to tables is protected by the locks that
    the other modules take themselves.
notes:
  - The playbook C(olap.partmove.guard) uses this module; see C(docs/operate/guard.md).
  - That the turn is another one's is no failure. Look at RV(taken).
author:
  - olap.partmove contributors (@olap-partmove)
extends_documentation_fragment:
  - olap.partmove.ensembles.one
  - olap.partmove.attributes
  - olap.partmove.attributes.action_group
attributes:
  check_mode:
    support: full
    details: Whether the time of a turn has passed is told by the clock of this host, as nothing is
      written.
  diff_mode:
    support: full
  idempotent:
    support: full
    details: Taking a turn again prolongs it, which counts as no change.
options:
  coordination_root:
    description: Znode below which turns are kept, the same in every run.
    type: str
    default: /partmove
  name:
    description: Which turn, of lower-case letters, digits, C(_) and C(-). Turns of different names have
      nothing to do with each other.
    type: str
    default: guard
  state:
    description:
      - V(taken) takes the turn where nobody has it or its time has passed, and prolongs it where O(owner)
        has it already.
      - V(given_back) ends it if O(owner) has it, and leaves the turn of another one alone.
    type: str
    choices: [taken, given_back]
    default: taken
  owner:
    description: Who takes the turn or has it, in words that tell people and that no other run uses.
    type: str
    required: true
  ttl:
    description:
      - How long the turn lasts from now on unless it is given back or prolonged, as seconds or with a unit
        such as V(90m) or V(4h).
      - It holds whatever another host asks for.
    type: str
    default: 4h
seealso:
  - module: olap.partmove.part_audit_info
  - module: olap.partmove.part_repair
"""

EXAMPLES = r"""
- name: Take the turn
  olap.partmove.guard_lease:
    hot:
      hosts: [hot1:2181, hot2:2181, hot3:2181]
    owner: the cron job on control1, process 4711
    ttl: 2h
  register: turn

- name: Go on only where it is ours
  ansible.builtin.meta: end_play
  when: not turn.taken

- name: Give it back
  olap.partmove.guard_lease:
    hot:
      hosts: [hot1:2181, hot2:2181, hot3:2181]
    owner: the cron job on control1, process 4711
    state: given_back
"""

RETURN = r"""
taken:
  description: Whether O(owner) has the turn now, or would have it.
  returned: when the options could be used
  type: bool
owner:
  description: Who has the turn now; empty for nobody.
  returned: when the options could be used
  type: str
  sample: guard on control1, 20261122T081500Z-71350211
seconds_left:
  description: For how long; 0 with O(state=given_back).
  returned: when the options could be used
  type: int
  sample: 14400
former_owner:
  description: Who had it before; empty for nobody. With O(state=taken) it differs from RV(owner) where a turn
    was taken over whose time had passed.
  returned: when the options could be used
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
