# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: play_hosts
short_description: The hosts of a play, which fails where there are none
version_added: 0.1.0
description:
  - Ansible skips a play whose pattern matches no host, and the run counts as a success. With this lookup as
    the C(hosts) of a play the run fails, and tells whether the inventory has no such host or C(--limit)
    leaves none.
  - Where no play is run, as with C(--syntax-check) or C(--list-hosts), nothing is refused.
author:
  - olap.partmove contributors (@olap-partmove)
options:
  _terms:
    description: The pattern of the play, as in C(hosts).
    required: true
"""

EXAMPLES = r"""
- name: Do something on every ClickHouse server, of which there has to be one
  hosts: "{{ lookup('olap.partmove.play_hosts', 'clickhouse') }}"
  tasks:
    - name: Say hello
      ansible.builtin.debug:
        msg: hello
"""

RETURN = r"""
_raw:
  description: The pattern as it was given.
  type: list
  elements: str
"""

from collections.abc import Mapping, Sequence
from typing import Any

from ansible import context
from ansible.errors import AnsibleLookupError
from ansible.inventory.manager import InventoryManager
from ansible.plugins.lookup import LookupBase

_NO_RUN = ("syntax", "listhosts", "listtags", "listtasks")
"""Options of ansible-playbook with which no play is run."""


class LookupModule(LookupBase):  # type: ignore[misc] # ansible-core has no type information
    """Looks for the hosts in the inventory of the run, and leaves the pattern as it is."""

    def run(
        self, terms: Sequence[Any], variables: Mapping[str, Any] | None = None, **kwargs: Any
    ) -> list[Any]:
        """Return the patterns; raises AnsibleLookupError where one has no host."""
        self.set_options(var_options=variables, direct=kwargs)
        known = variables or {}
        # A check of the syntax and a list have no need of hosts.
        if not any(context.CLIARGS.get(name) for name in _NO_RUN):
            for pattern in terms:
                self._refuse_nobody(pattern, known["groups"], known.get("ansible_limit"))
        return list(terms)

    def _refuse_nobody(
        self, pattern: str | list[str], groups: Mapping[str, Sequence[str]], limit: str | None
    ) -> None:
        manager = InventoryManager(self._loader, parse=False)
        for group, hosts in groups.items():
            manager.add_group(group)
            for host in hosts:
                manager.add_host(host, group=group)
        named = pattern if isinstance(pattern, str) else ",".join(pattern)
        found = [str(host) for host in manager.get_hosts(pattern)]
        if not found:
            raise AnsibleLookupError(
                f"The inventory has no host for the pattern {named!r}, so nothing would be done. "
                "Give an inventory that has such hosts or such a group with -i."
            )
        manager.subset(limit)
        if not manager.get_hosts(pattern):
            raise AnsibleLookupError(
                f"--limit {limit} leaves out every host of this play, whose pattern is {named!r}. "
                f"Leave --limit out, or name such a host in it, as in --limit {limit},{found[0]}."
            )
