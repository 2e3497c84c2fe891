# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Playbooks fail before they do anything: without hosts, with wrong variables, and with unknown tags."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from support.ansible.calls import PlaybookRun, run_playbook

INVENTORY = """
clickhouse:
  hosts:
    ch1:
web:
  hosts:
    web1:
"""
ENSEMBLES = {"part_move_hot": {"hosts": ["127.0.0.1:1"]}, "part_move_cold": {"hosts": ["127.0.0.1:2"]}}


def run(folder: Path, name: str, variables: dict[str, Any], *options: str) -> PlaybookRun:
    """Run a playbook of the collection with an inventory of two groups."""
    (folder / "hosts.yml").write_text(INVENTORY)
    (folder / "vars.json").write_text(json.dumps(variables))
    playbook = folder / "site.yml"
    playbook.write_text(json.dumps([{"ansible.builtin.import_playbook": f"olap.partmove.{name}"}]))
    return run_playbook(playbook, "-i", str(folder / "hosts.yml"), "-e", f"@{folder / 'vars.json'}", *options)


@pytest.mark.parametrize(
    ("name", "variables", "options", "message"),
    [
        (
            "rollout",
            {"rollout_hosts": "servers"},
            [],
            "The inventory has no host for the pattern 'servers', so nothing would be done.",
        ),
        (
            "rollout",
            {},
            ["--limit", "web"],
            (
                "--limit web leaves out every host of this play, whose pattern is 'clickhouse'."
                " Leave --limit out, or name such a host in it, as in --limit web,ch1."
            ),
        ),
        (
            "audit",
            {},
            ["--limit", "clickhouse"],
            "--limit clickhouse leaves out every host of this play, whose pattern is 'localhost'.",
        ),
        (
            "separate",
            {"separate_renew": True, "separate_servers": "servers"},
            [],
            "The inventory has no host for the pattern 'servers'",
        ),
    ],
    ids=["a group that is not there", "a limit to another group", "a limit without localhost", "no servers"],
)
def test_a_play_without_hosts_fails(
    tmp_path: Path, name: str, variables: dict[str, Any], options: list[str], message: str
) -> None:
    done = run(tmp_path, name, variables, *options)
    assert done.status != 0
    assert message in done.output
    assert "TASK [" not in done.output


def test_a_check_of_the_syntax_and_a_list_need_no_hosts(tmp_path: Path) -> None:
    for option in ("--syntax-check", "--list-tasks"):
        done = run(tmp_path, "rollout", {"rollout_hosts": "servers"}, option)
        assert done.status == 0, done.told


def test_all_missing_variables_are_listed_at_once(tmp_path: Path) -> None:
    """Also variables of the last task only, and undefined variables inside of others. No value is shown."""
    variables = {
        "part_move_hot": {"hosts": ["{{ member }}"]},
        "part_move_clickhouse": {"user": "monitor", "password": "Tr0ub4dor-{{ monitor_password }}"},
        "part_move_result_dest": "{{ folder }}/result.json",
        "partition_classify_policy": "{{ policy.of_mine }}",
        "policy": {},
    }
    done = run(tmp_path, "separate", variables)
    assert done.status != 0
    (sentence,) = {line for line in done.output.splitlines() if line.lstrip().startswith('"msg": ')}
    assert "partition_classify_root and part_move_cold are not given; " in sentence
    assert "one of partition_classify_hot, partition_classify_hot_files has to be given; " in sentence
    assert "part_move_clickhouse cannot be read, as monitor_password is undefined; " in sentence
    assert "part_move_hot cannot be read, as member is undefined; " in sentence
    assert "part_move_result_dest cannot be read, as folder is undefined; " in sentence
    assert "partition_classify_policy cannot be read, as " in sentence
    assert (
        " See `ansible-doc --type role olap.partmove.partition_classify` and"
        " `ansible-doc --type role olap.partmove.part_move` for what each variable means."
    ) in sentence
    assert "Tr0ub4dor" not in done.output
    assert done.output.count("TASK [") == 1


@pytest.mark.parametrize(
    ("name", "absent"),
    [
        (
            "move_table",
            (
                "twin_move_hot and twin_move_clickhouse are not given; one of move_table_shard_paths,"
                " move_table_root has to be given"
            ),
        ),
        ("twin_view", "twin_move_hot, twin_move_clickhouse and twin_view_shard_paths are not given"),
    ],
)
def test_a_whole_table_needs_its_paths(tmp_path: Path, name: str, absent: str) -> None:
    done = run(tmp_path, name, ENSEMBLES)
    assert done.status != 0
    assert absent in done.output
    assert "and docs/reference/playbook-variables.md of the collection for what" in done.output
    assert done.output.count("TASK [") == 1


def test_variables_with_a_default_are_not_missing(tmp_path: Path) -> None:
    """The playbook goes on until it connects to the ensembles, which do not exist."""
    options = {
        "part_move_shard_paths": ["/hits"],
        "part_move_lock_wait": "1s",
        "part_move_assume_active": True,
    }
    done = run(tmp_path, "reheat", {**ENSEMBLES, **options})
    assert done.status != 0
    # The arguments of the module, which some releases of Ansible show, have the address as well.
    assert re.search(r'^ *"msg": ".*127\.0\.0\.1:1\b', done.output, re.MULTILINE), done.output
    assert "cannot be read" not in done.output


@pytest.mark.parametrize("name", ["separate", "reheat"])
def test_each_way_needs_its_own_variables(tmp_path: Path, name: str) -> None:
    unknown = run(tmp_path, name, {"separation": "modern"})
    assert "separation is 'modern' and has to be patched or twin; " in unknown.output
    twin = run(tmp_path, name, {"separation": "twin", **ENSEMBLES})
    for done in (unknown, twin):
        assert done.status != 0
        assert done.output.count("TASK [") == 1
    assert "twin_move_hot and twin_move_clickhouse are not given" in twin.output
    assert "--type role olap.partmove.twin_move` for what each variable means." in twin.output
    assert "part_move_clickhouse, part_move_assume_active" not in twin.output


def test_an_audit_of_twins_needs_no_cold_ensemble(tmp_path: Path) -> None:
    done = run(tmp_path, "audit", {"separation": "twin"})
    assert done.status != 0
    assert "partmove_audit_hot and partmove_audit_clickhouse are not given. " in done.output


def test_a_guard_of_twins_needs_its_own_variables_and_has_its_own_steps(tmp_path: Path) -> None:
    done = run(tmp_path, "guard", {"separation": "twin", "guard_separate": True})
    assert done.status != 0
    assert (
        "partmove_audit_hot, partmove_audit_clickhouse, twin_move_hot, twin_move_clickhouse and"
        " partition_classify_root are not given. "
    ) in done.output
    given = {"partmove_audit_hot": {"hosts": ["127.0.0.1:1"]}, "partmove_audit_clickhouse": {}}
    patched = {"guard_bring_back": True, "guard_remove_copies": True}
    done = run(tmp_path, "guard", {"separation": "twin", **given, **patched})
    assert done.status != 0
    assert (
        "With separation twin the guard has no step guard_bring_back and guard_remove_copies." in done.output
    )
    done = run(tmp_path, "guard", {**given, "partmove_audit_cold": {}, "guard_finish": True})
    assert done.status != 0
    assert "With separation patched the guard has no step guard_finish." in done.output


def test_stock_servers_need_no_sign_of_the_patch(tmp_path: Path) -> None:
    patched = run(tmp_path, "rollout", {})
    assert "clickhouse_node_cold and clickhouse_node_patched_sign are not given" in patched.output
    stock = run(tmp_path, "rollout", {"clickhouse_node_state": "stock"})
    assert "clickhouse_node_hot and clickhouse_node_cold are not given" in stock.output


@pytest.mark.parametrize(
    ("name", "variable", "meant", "where"),
    [
        (
            "separate",
            "part_move_max_part_per_second",
            "part_move_max_parts_per_second",
            "`ansible-doc --type role olap.partmove.part_move`",
        ),
        ("rollout", "rollout_szie", "rollout_size", "docs/reference/playbook-variables.md of the collection"),
    ],
)
def test_a_misspelled_variable_is_named_with_the_one_that_is_meant(
    tmp_path: Path, name: str, variable: str, meant: str, where: str
) -> None:
    done = run(tmp_path, name, {variable: 1, "zookeeper_port": 2181, "part_move__mine": 1})
    assert done.status != 0
    assert (
        f"{variable} is not a variable of this collection. Did you mean {meant}? See {where}." in done.output
    )
    assert "zookeeper_port" not in done.told
    assert done.output.count("TASK [") == 1


def role_play(role: str, keyword: str, *, tasks_from: str = "main", **variables: Any) -> dict[str, Any]:
    """A play of a user that uses a role of the collection."""
    use = {"name": f"olap.partmove.{role}", "tasks_from": tasks_from}
    return {
        "hosts": "localhost",
        "gather_facts": False,
        "vars": variables,
        "tasks": [{f"ansible.builtin.{keyword}": use}],
    }


@pytest.mark.parametrize(
    ("keyword", "role", "tasks_from", "given"),
    [
        ("import_role", "part_move", "main", {"part_move_partitions": [], **ENSEMBLES}),
        ("include_role", "part_move", "inspect", ENSEMBLES),
        (
            "include_role",
            "twin_move",
            "twins",
            {"twin_move_hot": {"hosts": ["127.0.0.1:1"]}, "twin_move_clickhouse": {"user": "default"}},
        ),
    ],
)
def test_a_role_refuses_a_misspelled_variable(
    tmp_path: Path, keyword: str, role: str, tasks_from: str, given: dict[str, Any]
) -> None:
    playbook = tmp_path / "site.yml"
    play = role_play(role, keyword, tasks_from=tasks_from, **given, **{f"{role}_max_lisetd": 1})
    playbook.write_text(json.dumps([play]))
    done = run_playbook(playbook)
    assert done.status != 0
    assert (
        f"{role}_max_lisetd is not a variable of this collection. Did you mean {role}_max_listed?"
        f" See `ansible-doc --type role olap.partmove.{role}`."
    ) in done.output
    assert f"TASK [olap.partmove.{role} : Refuse misspelled variables]" in done.told


UNKNOWN_TAG = "--tags clasify matches no task. The tags of this run are: classify, move."


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("separate", ["--tags", "clasify"], UNKNOWN_TAG),
        ("separate", ["--tags", "move,clasify"], UNKNOWN_TAG),
        ("separate", ["--skip-tags", "clasify"], f"--skip-{UNKNOWN_TAG[2:]}"),
        ("separate", ["--tags", "untagged"], "--tags untagged matches no task."),
        (
            "audit",
            ["--tags", "x"],
            "--tags x matches no task. The playbook has no tags; leave the option out.",
        ),
    ],
)
def test_a_tag_that_matches_nothing_fails(
    tmp_path: Path, name: str, options: list[str], message: str
) -> None:
    done = run(tmp_path, name, {}, *options)
    assert done.status != 0
    assert message in done.output
    assert "TASK [" not in done.output


def test_a_playbook_by_its_full_name_knows_its_tags() -> None:
    done = run_playbook(Path("olap.partmove.separate"), "--tags", "clasify")
    assert done.status != 0
    assert UNKNOWN_TAG in done.output


def test_tags_of_a_playbook_with_other_plays_are_those_of_its_user(tmp_path: Path) -> None:
    (tmp_path / "inner.yml").write_text(
        json.dumps([{"ansible.builtin.debug": {"msg": "done"}, "tags": "inner"}])
    )
    own = {
        "hosts": "localhost",
        "gather_facts": False,
        "tasks": [{"ansible.builtin.include_tasks": "inner.yml", "tags": "always"}],
    }
    playbook = tmp_path / "site.yml"
    playbook.write_text(json.dumps([{"ansible.builtin.import_playbook": "olap.partmove.reheat"}, own]))
    done = run_playbook(playbook, "--tags", "inner")
    assert done.status == 0, done.told
    assert "done" in done.output


def test_tags_of_an_import_are_known(tmp_path: Path) -> None:
    playbook = tmp_path / "site.yml"
    imported = {"ansible.builtin.import_playbook": "olap.partmove.separate", "tags": "nightly"}
    playbook.write_text(json.dumps([imported]))
    done = run_playbook(playbook, "--tags", "nightly")
    assert "partition_classify_root, part_move_hot and part_move_cold are not given; " in done.output
    relative = Path(os.path.relpath(playbook))
    unknown = run_playbook(relative, "--tags", "nihgtly")
    assert (
        "--tags nihgtly matches no task. The tags of this run are: classify, move, nightly." in unknown.output
    )


def test_programs_may_skip_tags_of_their_own(tmp_path: Path) -> None:
    done = run(tmp_path, "separate", {}, "--skip-tags", "molecule-notest,notest")
    assert "partition_classify_root, part_move_hot and part_move_cold are not given; " in done.output


def test_lists_and_checks_of_the_syntax_need_no_tag(tmp_path: Path) -> None:
    done = run(tmp_path, "separate", {}, "--tags", "clasify", "--list-tags")
    assert done.status == 0, done.told


@pytest.mark.parametrize(
    ("role", "needed", "variables", "remedy"),
    [
        ("zookeeper", "apt", {"zookeeper_members": {"1": "ch1"}}, "Set zookeeper_archive"),
        (
            "clickhouse_node",
            "apt or dnf",
            {
                "clickhouse_node_packages": [{"name": "clickhouse-server", "version": "20.12"}],
                "clickhouse_node_hot": {"hosts": ["127.0.0.1:1"]},
                "clickhouse_node_cold": {"hosts": ["127.0.0.1:2"]},
            },
            "clickhouse_node_version_command and clickhouse_node_install_tasks",
        ),
    ],
    ids=["zookeeper", "clickhouse_node"],
)
@pytest.mark.parametrize("options", [[], ["--check"]], ids=["run", "check"])
def test_a_distribution_with_another_package_manager_is_refused(
    tmp_path: Path, role: str, needed: str, variables: dict[str, Any], remedy: str, options: list[str]
) -> None:
    (tmp_path / "hosts.yml").write_text(INVENTORY)
    (tmp_path / "vars.json").write_text(json.dumps({**variables, f"{role}__package_manager": "zypper"}))
    play = {"hosts": "ch1", "gather_facts": False, "roles": [f"olap.partmove.{role}"]}
    playbook = tmp_path / "site.yml"
    playbook.write_text(json.dumps([play]))
    extra = ["-i", str(tmp_path / "hosts.yml"), "-e", f"@{tmp_path / 'vars.json'}"]
    done = run_playbook(playbook, *extra, *options)
    assert done.status != 0
    said = f"with the package manager zypper, and this role needs {needed}. Nothing was changed."
    assert said in done.output
    assert remedy in done.output
    assert "changed=0 " in done.output


def test_a_guard_on_a_group_is_refused(tmp_path: Path) -> None:
    """The servers whose entries are renewed look up the host of the guard by this name."""
    hot = {"hosts": ["127.0.0.1:1"]}
    audited = {"partmove_audit_hot": hot, "partmove_audit_cold": hot, "partmove_audit_clickhouse": {}}
    done = run(tmp_path, "guard", {**audited, "guard_host": "clickhouse"})
    assert done.status != 0
    assert "guard_host is clickhouse, which is a group or a pattern." in done.output, done.told
    assert "such as ch1." in done.output
