# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""No mapping or list of variables has a template of one number.

Such a template returns text with ansible-core before 2.19, and JSON made of the mapping has that text.
Options of modules are converted, so they may have one. A template of the whole mapping keeps the numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from ansible.parsing.yaml.loader import AnsibleLoader

from support.ansible.tasks import tasks_by_file
from support.source import ROOT

_NUMBER = re.compile(r"\{\{[^{}]*\| *(int|float|length|sum|round(\([^()]*\))?) *\}\}")
_VARIABLES = ("vars", "set_fact", "ansible.builtin.set_fact")


def test_no_mapping_has_a_template_of_one_number() -> None:
    found = list(variables())
    assert len(found) > 500
    assert [
        (file, name, text)
        for file, name, value in found
        if isinstance(value, (dict, list))
        for text in texts_in(value)
        if _NUMBER.fullmatch(text.strip())
    ] == []


def variables() -> Iterator[tuple[str, str, Any]]:
    """Yield file, name and value of each variable of a role or playbook."""
    for pattern in ("roles/*/vars/*.yml", "roles/*/defaults/*.yml", "playbooks/vars/*.yml"):
        for file in sorted(ROOT.glob(pattern)):
            yield from named(file, yaml.load(file.read_text(encoding="utf-8"), AnsibleLoader))
    for file, task in tasks_by_file():
        for key in _VARIABLES:
            yield from named(file, task.get(key))


def named(file: Path, mapping: Any) -> Iterator[tuple[str, str, Any]]:
    for name, value in mapping.items() if isinstance(mapping, dict) else ():
        yield str(file.relative_to(ROOT)), name, value


def texts_in(value: Any) -> Iterator[str]:
    """Yield the texts in a value and in the values inside it."""
    if isinstance(value, str):
        yield value
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from texts_in(each)
