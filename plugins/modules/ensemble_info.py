#!/usr/bin/python
# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: ensemble_info
short_description: Say what an ensemble is, and what it lacks
version_added: 1.0.0
description:
  - Asks an ensemble and each of its hosts whether they are ZooKeeper or ClickHouse Keeper, which version they
    have, and how they treat clients. Reports what the ensemble lacks, and what follows from that for the
    modules of this collection.
  - Writes nothing. Opens four short sessions with each host. One of them claims a transaction that no
    ensemble has reached, which a member may refuse and log.
author:
  - olap.partmove contributors (@olap-partmove)
extends_documentation_fragment:
  - olap.partmove.ensembles.one
  - olap.partmove.attributes
  - olap.partmove.attributes.read_only
  - olap.partmove.attributes.action_group
options:
  hot:
    description: The ensemble to ask, hot, cold or auxiliary.
seealso:
  - module: olap.partmove.census_info
"""

EXAMPLES = r"""
- name: Say what the ensemble lacks
  olap.partmove.ensemble_info:
    hot:
      hosts: [keeper1:9181, keeper2:9181, keeper3:9181]
  register: ensemble

- name: Stop if a module would refuse the ensemble
  ansible.builtin.assert:
    that: ensemble.lacks | rejectattr('blocks', 'eq', '') | length == 0
    fail_msg: "{{ ensemble.lacks | map(attribute='means') | list }}"
"""

RETURN = r"""
software:
  description: V(zookeeper) or V(clickhouse_keeper); V(unknown) if the hosts do not tell, or differ.
  returned: success
  type: str
versions:
  description: The versions that the hosts told, each once, sorted.
  returned: success
  type: list
  elements: str
  sample: [3.9.3]
members:
  description: The hosts, in the order of the option.
  returned: success
  type: list
  elements: dict
  contains:
    address:
      description: The host.
      type: str
    version:
      description: Its version; empty if it does not answer the four-letter command C(srvr).
      type: str
    mode:
      description: V(leader), V(follower), V(observer) or V(standalone); empty if it is not known.
      type: str
    serves:
      description: Whether the host granted a session.
      type: bool
    keeps_session:
      description: Whether a client that connects again has the same session; null without a session.
      type: bool
    refuses_unseen:
      description:
        - Whether the host refuses a client that has seen more than the host has; null without a session.
      type: bool
    session_timeout:
      description: Seconds that the host grants for C(session_timeout) of O(hot); null without a session.
      type: float
members_path:
  description: The znode with the list of members; empty if there is none.
  returned: success
  type: str
members_problem:
  description: Why the hosts are not proven to be all members; empty if they are.
  returned: success
  type: str
multi_read:
  description: Whether many znodes are read in one request.
  returned: success
  type: bool
sync_ms:
  description: Median time of a sync and a read behind it, in milliseconds.
  returned: success
  type: float
lacks:
  description: What the ensemble lacks, what blocks a module first.
  returned: success
  type: list
  elements: dict
  contains:
    name:
      description:
        - V(all_members), V(every_member_serves), V(one_release), V(four_letters), V(session_timeout),
          V(multi_read), V(kept_sessions) or V(refusal_of_unseen).
      type: str
    means:
      description: What follows from that.
      type: str
    blocks:
      description: The modules that refuse such an ensemble; empty if all work with it.
      type: str
msg:
  description: The result in one line.
  returned: success
  type: str
"""

from collections.abc import Mapping
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.olap.partmove.plugins.module_utils._tasks import argspec
from ansible_collections.olap.partmove.plugins.module_utils._tasks.runner import Task, run


def main() -> None:
    module = AnsibleModule(argument_spec={"hot": argspec.ensemble()}, supports_check_mode=True)
    run(module, _task)


def _task(params: Mapping[str, Any]) -> Task:
    from ansible_collections.olap.partmove.plugins.module_utils._tasks.ensemble_info import EnsembleInfo

    return EnsembleInfo(params)


if __name__ == "__main__":
    main()
