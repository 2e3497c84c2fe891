# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""README, the index of pages and the quickstart agree with the collection; playbooks check variables."""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from jinja2.nativetypes import NativeEnvironment

from ansible_collections.olap.partmove.plugins.module_utils._tasks.runner import OLDEST_PYTHON
from compat.cores import CONTROLLERS
from compat.pythons import SUPPORTED

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PLAYBOOKS = sorted((ROOT / "playbooks").glob("*.yml"))
QUICKSTART = (ROOT / "docs" / "quickstart.md").read_text(encoding="utf-8")
INDEX = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
PAGES = sorted((ROOT / "docs").rglob("*.md"))
# An inline link to a file of the repository, without its anchor.
_LINK = re.compile(r"\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)")


def documentation(plugin: Path) -> dict[str, Any]:
    """Return the documentation that ansible-doc shows, without its fragments."""
    for node in ast.parse(plugin.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "DOCUMENTATION":
            found: dict[str, Any] = yaml.safe_load(ast.literal_eval(node.value))
            return found
    raise AssertionError(plugin)


def specs(role: str) -> dict[str, Any]:
    """Return the argument specs of a role."""
    found: dict[str, Any] = yaml.safe_load(
        (ROOT / "roles" / role / "meta" / "argument_specs.yml").read_text()
    )
    return found["argument_specs"]["main"]  # type: ignore[no-any-return]


def public(kind: str) -> list[Path]:
    return sorted((ROOT / "plugins" / kind).glob("[a-z]*.py"))


def section(heading: str) -> str:
    """Return the text of a section of the index of pages."""
    (found,) = re.findall(rf"^## {heading}$(.*?)(?=^## |\Z)", INDEX, flags=re.MULTILINE | re.DOTALL)
    return str(found)


def columns(text: str, number: int) -> list[list[str]]:
    """Return the names in backticks, by column, of all table rows with that number of columns."""
    cells = [row.split("|")[1:-1] for row in text.splitlines() if row.startswith("|")]
    return [
        [name for row in cells if len(row) == number for name in re.findall(r"`(\w+)`", row[column])]
        for column in range(number)
    ]


def tasks_of(play: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the tasks of a play, including those of a file that it imports first."""
    tasks: list[Mapping[str, Any]] = play["tasks"]
    first = tasks[0].get("ansible.builtin.import_tasks")
    return [*yaml.safe_load((ROOT / "playbooks" / first).read_text()), *tasks[1:]] if first else tasks


def needed_by(playbook: Path) -> Mapping[str, Any]:
    """Return the variables that the playbook requires before it does anything."""
    plays = yaml.safe_load(playbook.read_text(encoding="utf-8"))
    firsts = [tasks_of(play)[0] for play in plays]
    (found,) = [each["olap.partmove._check_variables"] for each in firsts if _asks(each)]
    return found  # type: ignore[no-any-return]


def _asks(task: Mapping[str, Any]) -> bool:
    return "olap.partmove._check_variables" in task


@pytest.fixture(scope="module")
def variables() -> dict[str, Any]:
    """Return the vars.yml for patched servers that the quickstart shows."""
    (text,) = re.findall(r"^```yaml\n(hot:\n.*?)^```$", QUICKSTART, flags=re.MULTILINE | re.DOTALL)
    found: dict[str, Any] = yaml.safe_load(text)
    return found


def test_the_index_lists_every_playbook_role_and_plugin_once_and_nothing_else() -> None:
    playbooks, _ = columns(section("Playbooks"), 2)
    assert playbooks == [each.stem for each in PLAYBOOKS]
    _, roles, modules = columns(section("Roles and plugins"), 3)
    kinds = re.findall(r"^\| `(\w+)` \| (inventory|lookup|filter) \|", INDEX, flags=re.MULTILINE)
    others = {name for name, _ in kinds}
    assert sorted(roles) == sorted(each.name for each in (ROOT / "roles").iterdir())
    assert sorted(set(modules) - others) == [each.stem for each in public("modules")]
    assert len(modules) == len(set(modules))
    assert kinds == [(each.stem, kind) for kind in ("inventory", "lookup", "filter") for each in public(kind)]


def test_the_index_names_every_page_once() -> None:
    in_tables = "\n".join(line for line in INDEX.splitlines() if line.startswith("| "))
    named = [(ROOT / "docs" / target).resolve() for target in _LINK.findall(in_tables)]
    decisions = ROOT / "docs" / "internals" / "adr"
    wanted = {each for each in PAGES if each.name != "README.md" and each.parent != decisions}
    assert sorted(named) == sorted({*wanted, decisions, ROOT / "CONTRIBUTING.md"})


def test_playbooks_that_first_pages_run_are_there() -> None:
    for text in (README, QUICKSTART):
        run = set(re.findall(r"ansible-playbook olap\.partmove\.(\w+)", text))
        assert run
        assert run <= {each.stem for each in PLAYBOOKS}


def test_badges_tell_the_releases_that_are_tested() -> None:
    cores, pythons = list(CONTROLLERS), SUPPORTED
    assert f"![ansible-core {cores[0]} to {cores[-1]}]" in README
    assert f"ansible--core-{cores[0]}%20to%20{cores[-1]}-" in README
    assert f"![Python {pythons[0]} to {pythons[-1]}]" in README
    assert f"python-{pythons[0]}%20to%20{pythons[-1]}-" in README
    runtime = yaml.safe_load((ROOT / "meta" / "runtime.yml").read_text())
    assert runtime["requires_ansible"] == f">={cores[0]}.0"


def test_addresses_of_the_repository_are_those_of_galaxy() -> None:
    repository = yaml.safe_load((ROOT / "galaxy.yml").read_text())["repository"]
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "docs" / "quickstart.md"]
    found = {
        address
        for page in pages
        for address in re.findall(r"https://github\.com/[\w.-]+/[\w.-]+", page.read_text(encoding="utf-8"))
    }
    assert found == {repository}


def test_every_module_says_which_pythons_it_needs() -> None:
    oldest = ".".join(map(str, OLDEST_PYTHON))
    fragment = (ROOT / "plugins" / "doc_fragments" / "attributes.py").read_text(encoding="utf-8")
    assert (
        f"    requirements:\n      - Python {oldest} or later on the host that runs the module\n" in fragment
    )
    for module in public("modules"):
        assert "olap.partmove.attributes" in documentation(module)["extends_documentation_fragment"], module


def test_an_execution_environment_has_what_the_collection_needs() -> None:
    wanted = (ROOT / "requirements.txt").read_text().splitlines()
    of_controller = {line for line in wanted if line and not line.startswith(("#", "ansible-core"))}
    folder = ROOT / "meta"
    parts = yaml.safe_load((folder / "execution-environment.yml").read_text())["dependencies"]
    assert set((ROOT / parts["python"]).read_text().splitlines()) == of_controller
    assert re.findall(r"^[a-z].*\[platform:(\w+)\]$", (ROOT / parts["system"]).read_text(), re.MULTILINE) == [
        "dpkg",
        "rpm",
    ]


@pytest.mark.parametrize("playbook", PLAYBOOKS, ids=lambda each: each.stem)
def test_a_playbook_fails_without_hosts_and_without_its_variables(playbook: Path) -> None:
    for play in yaml.safe_load(playbook.read_text(encoding="utf-8")):
        # The hosts that an earlier play of the playbook added.
        found = play["hosts"].endswith("__servers")
        assert found or "lookup('olap.partmove.play_hosts', " in play["hosts"]
    assert needed_by(playbook)["roles"]


def test_the_variables_of_the_quickstart_are_those_of_roles(variables: dict[str, Any]) -> None:
    roles = {each.name: specs(each.name)["options"] for each in (ROOT / "roles").iterdir()}
    known = {name for options in roles.values() for name in options}
    assert set(variables) - known == {"hot", "cold", "clickhouse"}


def given_as(value: Any, **variables: Any) -> Any:
    """Return a value of a task as Ansible evaluates it with these variables."""
    return NativeEnvironment().from_string(value).render(variables) if isinstance(value, str) else value


@pytest.mark.parametrize("name", ["audit", "census", "reheat", "rollout", "separate"])
def test_the_variables_of_the_quickstart_are_enough(variables: dict[str, Any], name: str) -> None:
    needed = needed_by(ROOT / "playbooks" / f"{name}.yml")
    assert set(given_as(needed.get("needed", []))) <= variables.keys()
    assert all(variables.keys() & set(group) for group in given_as(needed.get("one_of", [])))


@pytest.mark.parametrize(
    ("page", "own", "playbooks"),
    [
        ("twin/move", {"separation", "hot"}, ["separate", "reheat"]),
        (
            "quickstart",
            {"separation", "hot", "clickhouse"},
            ["separate", "reheat", "audit", "census", "auxiliary_ensemble"],
        ),
    ],
    ids=["twin/move", "quickstart"],
)
def test_the_variables_for_cold_twins_are_those_of_roles_and_enough(
    page: str, own: set[str], playbooks: list[str]
) -> None:
    whole = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    (text,) = re.findall(r"^```yaml\n(separation: .*?)^```$", whole, flags=re.MULTILINE | re.DOTALL)
    given: dict[str, Any] = yaml.safe_load(text)
    known = {name for each in (ROOT / "roles").iterdir() for name in specs(each.name)["options"]}
    assert given.keys() - known == own
    separation = given["separation"]
    for name in playbooks:
        needed = needed_by(ROOT / "playbooks" / f"{name}.yml")
        if name in {"separate", "reheat", "audit"}:
            assert separation in needed["choices"]["separation"]
        assert set(given_as(needed.get("needed", []), separation=separation)) <= given.keys()
        assert all(
            given.keys() & set(group) for group in given_as(needed.get("one_of", []), separation=separation)
        )


def test_the_sign_of_the_patch_is_a_query(variables: dict[str, Any]) -> None:
    sign = variables["clickhouse_node_patched_sign"]
    assert re.fullmatch(r"SELECT [ -~]+", sign)
    assert f"`{sign}`" in (ROOT / "docs" / "patched" / "server.md").read_text(encoding="utf-8")


def test_the_archive_is_built_without_what_tests_need() -> None:
    """On a fresh clone `make build` installs neither servers nor the packages of tests."""
    done = subprocess.run(
        ["make", "--dry-run", "BIN=/nowhere", f"--directory={ROOT}", "build"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "ansible-galaxy collection build" in done.stdout
    assert "setup_host" not in done.stdout
    assert "requirements-dev" not in done.stdout
    archive = f"olap-partmove-{yaml.safe_load((ROOT / 'galaxy.yml').read_text())['version']}.tar.gz"
    assert f"ansible-galaxy collection install build/dist/{archive}\n" in README
    assert f"ansible-galaxy collection install build/dist/{archive}\n" in QUICKSTART
