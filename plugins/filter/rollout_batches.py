# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: rollout_batches
short_description: The order in which the servers of a cluster are changed
version_added: 0.1.0
description:
  - Returns batches of servers. The servers of the canary shard come first and alone, then those of the other
    shards, of several shards at the same time if O(size) allows it.
author:
  - olap.partmove contributors (@olap-partmove)
options:
  _input:
    description: The servers, as mappings with the keys C(name), C(shard) and C(lag).
    type: list
    elements: dict
    required: true
  canary:
    description: The shard that comes first; the first shard if empty.
    type: str
    default: ""
  size:
    description: How many shards are changed at the same time, or a percentage of all shards.
    type: str
    default: "1"
  within:
    description:
      - V(rolling) changes one server of a shard at a time, the one with the most lag first.
      - V(together) changes all servers of a shard at the same time.
    type: str
    choices: [rolling, together]
    default: rolling
"""

EXAMPLES = r"""
- name: Show the order
  ansible.builtin.debug:
    msg: "{{ servers | olap.partmove.rollout_batches(canary='2', size='25%') }}"
  vars:
    servers:
      - {name: ch1, shard: 1, lag: 0}
      - {name: ch2, shard: 1, lag: 7}
      - {name: ch3, shard: 2, lag: 0}
"""

RETURN = r"""
_value:
  description: Batches of server names, in the order of the changes.
  type: list
  elements: list
  sample: [[ch3], [ch2], [ch1]]
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ansible.errors import AnsibleFilterError

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import PartMoveError
from ansible_collections.olap.partmove.plugins.module_utils._partmove.rollout import batches, servers_of


def rollout_batches(
    servers: Sequence[Mapping[str, Any]], canary: str = "", size: str | int = "1", within: str = "rolling"
) -> list[list[str]]:
    """Return the batches. Raises AnsibleFilterError for wrong servers or options."""
    try:
        return batches(servers_of(servers), canary=str(canary), size=str(size), within=within)
    except PartMoveError as error:
        raise AnsibleFilterError(str(error)) from error


class FilterModule:
    """Provides the filter to Ansible."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the function of each filter by its name."""
        return {"rollout_batches": rollout_batches}
