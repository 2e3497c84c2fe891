# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The table of playbook variables, tags and facts agrees with playbooks, roles and documentation."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.olap.partmove.plugins.plugin_utils._playbooks import (
    FACTS,
    OF_OTHER_HOSTS,
    PAGE,
    PLAYBOOKS,
)
from ansible_collections.olap.partmove.plugins.plugin_utils._spelling import (
    DISTINCTIVE,
    SHARED,
    described_in,
    options_of,
)

ROOT = Path(__file__).resolve().parents[4]
ROLES = sorted(path.name for path in (ROOT / "roles").iterdir())
FILES = sorted((ROOT / "playbooks").rglob("*.yml"))
# Filters, modules, files and values, which are no variables.
OTHER_NAMES = {
    "zookeeper_snapshot",
    *(path.stem for folder in ("filter", "modules") for path in (ROOT / "plugins" / folder).iterdir()),
    *(path.stem for path in (ROOT / "playbooks" / "tasks").iterdir()),
} - {name for playbook in PLAYBOOKS.values() for name in playbook.variables}
MESSAGE = re.compile(r"(?:fail_msg|msg): *(?:>-)?\n?((?:\"[^\n]*\"|[^\n]*)(?:\n {8,}[^\n]+)*)")


def code(path: Path) -> str:
    """The text of a file without its comments."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return "\n".join(line for line in lines if not line.lstrip().startswith("#"))


def names_in(text: str, prefix: str) -> set[str]:
    return {
        name
        for name in re.findall(rf"\b{prefix}_\w+\b", text)
        if not name.startswith(f"{prefix}__") and name not in OTHER_NAMES
    }


def tags_in(value: Any) -> Iterator[str]:
    """Every tag of tasks, however deep."""
    if isinstance(value, list):
        for each in value:
            yield from tags_in(each)
    elif isinstance(value, dict):
        given = value.get("tags", [])
        yield from [given] if isinstance(given, str) else given
        yield from tags_in(list(value.values()))


def test_every_playbook_is_in_the_table() -> None:
    assert list(PLAYBOOKS) == [path.stem for path in FILES if path.parent.name == "playbooks"]


COLUMNS = {"zookeeper_path"}
"""Columns of system tables, in statements that playbooks send."""


@pytest.mark.parametrize("name", PLAYBOOKS)
def test_a_playbook_has_the_variables_of_the_table(name: str) -> None:
    used = {found for path in FILES for found in names_in(code(path), name)}
    of_roles = {*options_of(name), *FACTS.get(name, ())}
    assert used - of_roles - COLUMNS == set(PLAYBOOKS[name].variables)


@pytest.mark.parametrize("name", PLAYBOOKS)
def test_a_playbook_has_the_tags_of_the_table(name: str) -> None:
    plays = yaml.safe_load((ROOT / "playbooks" / f"{name}.yml").read_text(encoding="utf-8"))
    imported = re.findall(r"import_tasks: (\S+)", code(ROOT / "playbooks" / f"{name}.yml"))
    files = [yaml.safe_load((ROOT / "playbooks" / path).read_text(encoding="utf-8")) for path in imported]
    assert {*tags_in(plays), *tags_in(files)} - {"always"} == set(PLAYBOOKS[name].tags)


@pytest.mark.parametrize("name", [name for name in PLAYBOOKS if PLAYBOOKS[name].tags])
def test_every_task_of_a_playbook_with_tags_has_one(name: str) -> None:
    for play in yaml.safe_load((ROOT / "playbooks" / f"{name}.yml").read_text(encoding="utf-8")):
        for task in play["tasks"]:
            path = task.get("ansible.builtin.import_tasks")
            tasks = yaml.safe_load((ROOT / "playbooks" / path).read_text("utf-8")) if path else [task]
            assert all(each.get("tags") for each in tasks)


@pytest.mark.parametrize("name", PLAYBOOKS)
def test_the_page_describes_the_variables_of_a_playbook(name: str) -> None:
    page = (ROOT / PAGE).read_text(encoding="utf-8")
    (section,) = re.findall(rf"^## `{name}`$(.*?)^##", page, flags=re.MULTILINE | re.DOTALL)
    assert set(re.findall(r"^\| `(\w+)` \|", section, flags=re.MULTILINE)) == set(PLAYBOOKS[name].variables)


def test_the_page_has_the_prefixes_after_which_every_unknown_name_is_refused_or_none() -> None:
    rows = re.findall(r"^\| (`\w+_…`.*?) \| (.*) \|$", (ROOT / PAGE).read_text("utf-8"), flags=re.MULTILINE)
    prefixes = [set(re.findall(r"`(\w+)_…`", names)) for names, _meaning in rows]
    assert prefixes == [DISTINCTIVE, SHARED]


@pytest.mark.parametrize("role", ROLES)
def test_facts_that_a_role_sets_are_in_the_table(role: str) -> None:
    texts = [code(path) for path in (ROOT / "roles" / role / "tasks").glob("*.yml")]
    blocks = [block for text in texts for block in re.findall(r"set_fact:\n((?: {6,}.*\n?)+)", text)]
    registered = {name for text in texts for name in re.findall(r"register: (\w+)", text)}
    facts = {name for block in blocks for name in re.findall(rf"^ {{6,8}}({role}_\w+):", block, re.MULTILINE)}
    public = {name for name in registered | facts if "__" not in name}
    assert public <= {*FACTS.get(role, ()), *options_of(role)}


def test_the_table_has_no_variable_that_a_role_has_no_use_for() -> None:
    for table in (FACTS, OF_OTHER_HOSTS):
        for role, names in table.items():
            text = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "roles" / role).rglob("*.*2"))
            text += "".join(code(path) for path in (ROOT / "roles" / role).rglob("*.yml"))
            assert [name for name in names if not re.search(rf"\b{name}\b", text)] == []


def named_in_messages() -> Iterator[tuple[str, str]]:
    """File and variable, for each variable that a message tells people to give."""
    for path in [*FILES, *sorted((ROOT / "roles").glob("*/tasks/*.yml"))]:
        for message in MESSAGE.findall(code(path)):
            plain = re.sub(r"\{\{.*?\}\}", "", message, flags=re.DOTALL)
            for owner in (*PLAYBOOKS, *ROLES):
                for name in sorted(names_in(plain, owner) - {*ROLES, *PLAYBOOKS}):
                    yield str(path.relative_to(ROOT)), name


def needed() -> Iterator[tuple[str, list[str], str]]:
    """File, roles and variable, for each variable that a playbook refuses to begin without."""
    for path in FILES:
        for block in re.findall(r"_check_variables:\n((?: +.*\n| *#.*\n)+)", code(path)):
            roles = re.findall(rf"\b(?:{'|'.join(ROLES)})\b", block.split("roles:")[1])
            given = re.sub(r"^ *playbook: .*$", "", block.split("roles:")[0], flags=re.MULTILINE)
            for name in re.findall(r"\b[a-z0-9]+(?:_[a-z0-9]+)+\b", given):
                if name not in {"one_of", "guard_separate"}:
                    yield str(path.relative_to(ROOT)), roles, name


def assert_described(name: str, roles: list[str]) -> None:
    place = described_in(name, roles)
    if place.startswith("`"):
        role = place.strip("`").rsplit(".", 1)[1]
        assert name in options_of(role)
    else:
        assert f"| `{name}` |" in (ROOT / PAGE).read_text(encoding="utf-8"), name


def test_what_is_not_given_is_described_where_the_message_says() -> None:
    found = list(needed())
    assert len(found) > 20
    for _path, roles, name in found:
        assert_described(name, roles)


def test_variables_in_messages_of_roles_and_playbooks_are_described() -> None:
    found = list(named_in_messages())
    assert len(found) > 30
    for _path, name in found:
        assert_described(name, [])
