# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The playbook census.yml on a real ensemble and on its files: what it tells and writes."""

from __future__ import annotations

import json
import shutil
import stat
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from kazoo.client import KazooClient

from support.ansible.calls import PlaybookRun, run_playbook
from support.ansible.role_runs import changed, summary
from support.files.keeper_snapshots import KeeperSnapshotFile, write_generated_keeper
from support.files.snapshot_files import GeneratedTree
from support.html_page import SCRIPT, Page, check_page
from support.memory.tables import TableOptions, build_table, read_tree
from support.servers.zookeeper import Ensemble

PATH = "/clickhouse/tables/01/hits{{ 7 * 7 }}<b>"
FILES = ("json", "text", "page")


class Censuses:
    """Runs of the playbook for one server with one table."""

    def __init__(self, ensemble: Ensemble, client: KazooClient, folder: Path) -> None:
        self.ensemble = ensemble
        self.client = client
        self.folder = folder
        self.written = {name: folder / f"census.{name}" for name in FILES}

    def run(self, *options: str, **variables: Any) -> PlaybookRun:
        """Run it as a user does, with variables from a file."""
        given = {name: str(path) for name, path in self.written.items()} | variables
        extra = self.folder / "vars.json"
        extra.write_text(json.dumps({f"partmove_census_{name}": value for name, value in given.items()}))
        playbook = self.folder / "site.yml"
        playbook.write_text(json.dumps([{"ansible.builtin.import_playbook": "olap.partmove.census"}]))
        return run_playbook(playbook, "-e", f"@{extra}", *options)

    @property
    def hot(self) -> dict[str, list[str]]:
        """Where the server is."""
        return {"hosts": [member.address for member in self.ensemble.members]}

    def copy(self) -> dict[str, str]:
        """The files of the server, as they are now."""
        (member,) = self.ensemble.members
        shutil.copytree(member.data_dir, self.folder / "copy", dirs_exist_ok=True)
        return {"data_dir": str(self.folder / "copy")}


@pytest.fixture
def censuses(connect: Callable[[str], KazooClient], tmp_path: Path) -> Iterator[Censuses]:
    with Ensemble(tmp_path / "server") as ensemble:
        client = connect(ensemble.connect_string)
        build_table(client, PATH, TableOptions(legacy=True))
        yield Censuses(ensemble, client, tmp_path)


def test_a_running_ensemble_and_its_files_give_the_same(censuses: Censuses) -> None:
    before = read_tree(censuses.client)
    checked = censuses.run("--check", hot=censuses.hot)
    assert changed(checked) == 0
    assert not any(path.exists() for path in censuses.written.values())

    # Nobody listens there.
    asked = {"clickhouse": {"hosts": ["127.0.0.1:1"], "password": "hunter2"}}
    run = censuses.run(hot=censuses.hot, **asked)
    assert changed(run) == 0
    assert "hunter2" not in run.output
    by_session = json.loads(censuses.written["json"].read_text())
    page = censuses.written["page"].read_text()
    check_page(page, SCRIPT)
    assert PATH in Page(page).words
    assert [stat.S_IMODE(path.stat().st_mode) for path in censuses.written.values()] == [0o644] * 3
    assert summary(run) == by_session["summary"]
    assert censuses.written["text"].read_text().splitlines() == by_session["summary"]

    assert by_session["servers"]["unjudged"].startswith(
        "1 of 1 server did not answer. ClickHouse at 127.0.0.1:1"
    )

    files = {"files": censuses.copy(), "python": sys.executable, **asked}
    run = censuses.run(**files)
    assert changed(run) == 0
    assert "hunter2" not in run.output
    by_files = json.loads(censuses.written["json"].read_text())
    same = by_session.keys() - {"as_of", "summary"}
    assert by_files.keys() == by_session.keys()
    assert {name: by_files[name] for name in same} == {name: by_session[name] for name in same}
    assert changed(censuses.run("--check", **files)) == 0
    assert read_tree(censuses.client) == before


def test_a_snapshot_of_keeper_gives_the_same_as_the_tree_of_zookeeper(
    tmp_path: Path, censuses: Censuses
) -> None:
    tree = GeneratedTree(shard_paths=2, parts=80, partitions=5)
    write_generated_keeper(tmp_path / "keeper", tree, KeeperSnapshotFile())
    found = []
    for folder in (tmp_path / "keeper", tmp_path / "keeper" / "zookeeper"):
        run = censuses.run(
            files={"data_dir": str(folder), "sorted_dir": str(tmp_path)}, python=sys.executable
        )
        assert changed(run) == 0
        found.append(json.loads(censuses.written["json"].read_text()))
    assert found[0] == found[1]
    assert found[0]["znodes"] > tree.parts
    assert not list(tmp_path.glob(".partition_classify*"))


def test_exactly_one_source_has_to_be_given(censuses: Censuses) -> None:
    for variables in ({}, {"hot": censuses.hot, "files": {"data_dir": "/none"}}):
        run = censuses.run(**variables)
        assert run.status != 0
        assert "Give exactly one of partmove_census_hot and partmove_census_files." in run.output


def test_files_that_cannot_be_read_are_told_in_a_sentence(censuses: Censuses) -> None:
    run = censuses.run(files={"data_dir": str(censuses.folder / "none")}, python=sys.executable)
    assert run.status != 0
    assert "none does not exist" in run.output
    assert "Traceback" not in run.output
