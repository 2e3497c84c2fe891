# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: play_hosts
short_description: The hosts of a play; fails if the play would do nothing
version_added: 1.0.0
description:
  - Ansible skips a play whose pattern matches no host, and the run counts as a success. With this lookup as
    the C(hosts) of a play the run fails. The error distinguishes between an inventory without such a host and
    a C(--limit) that excludes all of them.
  - Ansible also skips all tasks if C(--tags) names a tag that no task has. If a run consists only of
    playbooks of this collection, the lookup fails for unknown names in C(--tags), and lists the tags that
    exist. It also fails for names in C(--skip-tags) that are similar to such a tag, and not equal. A playbook
    that only imports playbooks of this collection counts as well.
  - Where no play runs, as with C(--syntax-check), C(--list-hosts) or C(--list-tags), the lookup never fails.
author:
  - olap.partmove contributors (@olap-partmove)
options:
  _terms:
    description: The pattern of the play, as in C(hosts).
    required: true
"""

EXAMPLES = r"""
- name: Do something on every ClickHouse server, and fail if there is none
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

import difflib
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ansible import context
from ansible.errors import AnsibleLookupError
from ansible.inventory.manager import InventoryManager
from ansible.plugins.lookup import LookupBase

from ansible_collections.olap.partmove.plugins.plugin_utils._playbooks import PLAYBOOKS

_NO_RUN = ("syntax", "listhosts", "listtags", "listtasks")
"""Options of ansible-playbook without any run of a play."""
_COLLECTION = "olap.partmove."
_FOLDER = Path(__file__).resolve().parents[2] / "playbooks"
_IMPORTS = ("ansible.builtin.import_playbook", "import_playbook")
_SPECIAL = {"tagged", "untagged"}


class LookupModule(LookupBase):  # type: ignore[misc] # ansible-core has no type information
    """Searches the inventory of the run for the hosts, and returns the pattern unchanged."""

    def run(
        self, terms: Sequence[Any], variables: Mapping[str, Any] | None = None, **kwargs: Any
    ) -> list[Any]:
        """Return the patterns. Raises AnsibleLookupError if a pattern has no host or a tag no task."""
        self.set_options(var_options=variables, direct=kwargs)
        known = variables or {}
        if not any(context.CLIARGS.get(name) for name in _NO_RUN):
            self._refuse_unknown_tags()
            for pattern in terms:
                self._refuse_nobody(pattern, known["groups"], known.get("ansible_limit"))
        return list(terms)

    def _refuse_unknown_tags(self) -> None:
        tags = self._tags_of_run()
        if tags is None:
            return
        given, skipped = ({*(context.CLIARGS.get(option) or ())} for option in ("tags", "skip_tags"))
        unknown = {
            "--tags": given - tags - {"all"},
            # Programs such as molecule skip tags of their own, so only names similar to a tag are mistakes.
            "--skip-tags": {
                tag for tag in skipped - tags - _SPECIAL if difflib.get_close_matches(tag, tags - _SPECIAL)
            },
        }
        for option, names in unknown.items():
            if names:
                given_names = ",".join(sorted(names))
                raise AnsibleLookupError(
                    f"{option} {given_names} matches no task. {_remedy(tags - _SPECIAL)}"
                )

    def _tags_of_run(self) -> set[str] | None:
        """Return all tags of the playbooks of the run; None if some playbook is not of this collection.

        Tasks of users may have any tags, also in files that are included later.
        """
        playbooks: Sequence[str] = context.CLIARGS.get("args") or ()
        if not playbooks:
            return None
        found: set[str] = set()
        for given in playbooks:
            name = _playbook_of(given)
            tags = _tags_of(name) if name else self._tags_of_imports(given)
            if tags is None:
                return None
            found |= tags
        return found

    def _tags_of_imports(self, path: str) -> set[str] | None:
        """Return the tags of a playbook that only imports playbooks of this collection; None for others."""
        # The loader would look for a relative path in the folder of the collection.
        absolute = Path(path).resolve()
        if not absolute.is_file():
            return None
        plays = self._loader.load_from_file(str(absolute))
        found: set[str] = set()
        for play in plays if isinstance(plays, list) else [{}]:
            name = _playbook_of(next((play[key] for key in _IMPORTS if key in play), ""))
            if name is None:
                return None
            own = play.get("tags") or []
            found |= _tags_of(name, own.split(",") if isinstance(own, str) else map(str, own))
        return found

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


def _playbook_of(given: str) -> str | None:
    """Return the name of a playbook of this collection, given by its full name or its path; else None."""
    name = given.removeprefix(_COLLECTION)
    if name == given:
        path = Path(given)
        name = path.stem if path.suffix and path.resolve().parent == _FOLDER else ""
    return name if name in PLAYBOOKS else None


def _tags_of(playbook: str, more: Iterable[str] = ()) -> set[str]:
    """Return what ``--tags`` may name. In a playbook with tags, every task has one."""
    tags = {*PLAYBOOKS[playbook].tags, *more}
    return {*tags, "tagged"} if tags else {"untagged"}


def _remedy(tags: Collection[str]) -> str:
    if not tags:
        return "The playbook has no tags; leave the option out."
    return f"The tags of this run are: {', '.join(sorted(tags))}."
