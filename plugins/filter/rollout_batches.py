# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: rollout_batches
short_description: The order in which the servers of a cluster are changed
version_added: 0.1.0
description:
  - One shard comes first and alone. Then come the others, several at the same time if wanted.
author:
  - olap.partmove contributors (@olap-partmove)
options:
  _input:
    description: The servers, as mappings with the keys C(name), C(shard) and C(lag).
    type: list
    elements: dict
    required: true
  canary:
    description: The shard that comes first; the first one if empty.
    type: str
    default: ""
  size:
    description: Of how many shards servers are changed at the same time, or of which percentage of them.
    type: str
    default: "1"
  within:
    description:
      - V(rolling) changes one server of a shard at a time, the one that lags most first.
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
  description: Names of the servers to change at the same time, in the order in which to change them.
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
    """The filter; raises AnsibleFilterError for what cannot be."""
    try:
        return batches(servers_of(servers), canary=str(canary), size=str(size), within=within)
    except PartMoveError as error:
        raise AnsibleFilterError(str(error)) from error


class FilterModule:
    """What Ansible looks for."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Name of each filter, and the function that it is."""
        return {"rollout_batches": rollout_batches}
