# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module clickhouse_config through Ansible, on files as Debian and others have them."""

from __future__ import annotations

import difflib
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from kazoo.client import KazooClient

from support.ansible.calls import Call, call_modules, run_modules
from support.files.configs import ENCODED, written
from support.servers.zookeeper import Ensemble

NODES = [{"host": "c1"}, {"host": "c2", "port": 2281}, {"host": "c3", "secure": True}]
IDENTITY, OTHER_IDENTITY = "clickhouse:Tr0ub4dor&3", "clickhouse:batt3ry<staple"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Debian's configuration, with a file of substitutions in the same folder."""
    folder = tmp_path / "etc"
    folder.mkdir()
    substitutions = folder / "metrika.xml"
    config = written("debian.xml").replace(
        "<yandex>", f"<yandex><include_from>{substitutions}</include_from>"
    )
    (folder / "config.xml").write_bytes(ENCODED["CRLF"](config))
    substitutions.write_bytes(ENCODED["UTF-16"](written("metrika.xml")))
    for name in ("config.xml", "metrika.xml"):
        (folder / name).chmod(0o640)
    return folder


def task(folder: Path, *, check: bool = False, **args: Any) -> Call:
    given = {"path": str(folder / "config.xml"), "nodes": NODES, **args}
    return Call(
        "clickhouse_config", {name: value for name, value in given.items() if value is not None}, check
    )


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def changed_lines(diff: dict[str, str]) -> list[str]:
    lines = difflib.unified_diff(diff["before"].splitlines(), diff["after"].splitlines(), n=0, lineterm="")
    return [line.strip("\r") for line in lines if line[0] in "+-"][2:]


def test_check_run_again_change_and_remove(folder: Path) -> None:
    before = contents(folder)
    wanted: dict[str, Any] = {"identity": IDENTITY, "root": "/cold"}
    results, output = call_modules(
        folder.parent,
        task(folder, check=True, **wanted),
        task(folder, **wanted),
        task(folder, **wanted),
        task(folder, check=True, **wanted),
        task(folder, identity=OTHER_IDENTITY, backup=True),
        task(folder, check=True, nodes=None, state="absent"),
        task(folder, nodes=None, state="absent"),
        task(folder, nodes=None, state="absent"),
    )

    checked, done, again, again_checked, changed, removed_checked, removed, removed_again = results
    assert (done["changed"], done["style"], done["modified"] > checked["modified"]) == (True, "incl", True)
    assert (checked["diff"], checked["files"]) == (done["diff"], done["files"])
    assert done["nodes"] == ["c1:2181", "c2:2281", "c3:2181"]
    added = [line for each in done["diff"] for line in changed_lines(each)]
    assert all(line.startswith("+") for line in added)
    assert [line[1:].strip() for line in added if "identity" in line] == [
        "<identity>(hidden, changed)</identity>"
    ]
    for each in (again, again_checked):
        assert (each["changed"], each["files"], each["diff"]) == (False, [], [])
    assert [line.strip("+- ") for line in changed_lines(changed["diff"][0])] == [
        "<identity>(hidden)</identity>",
        "<identity>(hidden, changed)</identity>",
    ]
    (backup,) = map(Path, changed["backup_files"])
    assert "clickhouse:Tr0ub4dor&amp;3".encode("utf-16-le") in backup.read_bytes()
    assert (removed_checked["files"], removed_checked["diff"]) == (removed["files"], removed["diff"])
    assert (removed["changed"], removed["style"], removed_again["changed"]) == (True, "absent", False)
    backup.unlink()
    assert contents(folder) == before
    assert stat.S_IMODE((folder / "config.xml").stat().st_mode) == 0o640
    for secret in ("Tr0ub4dor", "batt3ry"):
        assert secret not in output


def test_other_styles(folder: Path) -> None:
    before = contents(folder)
    results = run_modules(
        task(folder, style="inline"),
        task(folder, nodes=None, state="absent"),
        task(folder, style="drop_in", drop_in="50-cold.xml"),
        task(folder, nodes=None, state="absent"),
    )
    config, drop_in = str(folder / "config.xml"), str(folder / "config.d" / "50-cold.xml")
    assert [result["files"] for result in results] == [
        [{"path": config, "action": "changed"}],
        [{"path": config, "action": "changed"}],
        [{"path": drop_in, "action": "created"}],
        [{"path": drop_in, "action": "removed"}],
    ]
    assert [result["style"] for result in results] == ["inline", "absent", "drop_in", "absent"]
    assert contents(folder) == before


def test_hot_ensemble_where_debian_refers_to_it(folder: Path) -> None:
    before = contents(folder)
    hot: dict[str, Any] = {
        "element": "zookeeper",
        "nodes": [{"host": "zk1"}, {"host": "zk2"}, {"host": "zk9", "port": 99}],
    }
    cold, common, done, found = run_modules(
        task(folder),
        task(folder, element="zookeeper"),
        task(folder, **hot),
        task(folder, nodes=[{"host": "zk9", "port": 99}]),
    )
    assert cold["changed"]
    assert common["msg"].startswith("c1:2181 is to be in <zookeeper> and is in <cold_zookeeper> already.")
    assert done["files"] == [{"path": str(folder / "metrika.xml"), "action": "changed"}]
    # Where lines repeat, there is more than one way to tell two versions apart.
    assert sorted(changed_lines(done["diff"][0])) == [
        "+    <host>zk9</host>",
        "+    <port>99</port>",
        "+  </node>",
        '+  <node index="3">',
    ], done["diff"][0]
    assert found["msg"].startswith("zk9:99 is to be in <cold_zookeeper> and is in <zookeeper> already.")
    assert contents(folder)["config.xml"] != before["config.xml"]


def test_refusals_leave_files_alone(folder: Path) -> None:
    (folder / "config.d").mkdir()
    (folder / "broken.xml").write_text("<yandex><a></yandex>")
    (folder / "directory.xml").mkdir()
    link = folder / "link.xml"
    link.symlink_to("config.xml")
    before = contents(folder)
    results = run_modules(
        task(folder, nodes=None),
        task(folder, path=str(folder / "broken.xml")),
        task(folder, path=str(folder / "directory.xml")),
        task(folder, nodes=[{"host": "a b"}]),
        task(folder, identity="secretword"),
        task(folder, path=str(link), check=True, style="inline"),
    )
    sentences = [result.get("msg", "") for result in results]
    assert sentences[0] == "state is present but all of the following are missing: nodes"
    assert sentences[1] == (
        f"{folder}/broken.xml is not well-formed XML: line 1: mismatched tag."
        " Correct it first; ClickHouse would not start with it either."
    )
    assert sentences[2] == f"{folder}/directory.xml is a directory. Give the path of a file."
    assert sentences[3].startswith("'a b' in nodes is not a host.")
    assert sentences[4] == 'identity is not user:password. Write it so, or "" for none.'
    assert results[5]["files"] == [{"path": str(link), "action": "changed"}]
    assert contents(folder) == before


def test_members_are_asked_first(
    folder: Path, cold: Ensemble, base: str, connect: Callable[[str], KazooClient]
) -> None:
    before = contents(folder)
    connect(cold.connect_string).create(f"{base}-root")
    hosts = [member.address.split(":") for member in cold.members]
    nodes = [{"host": host, "port": int(port)} for host, port in hosts]
    missing, served = run_modules(
        task(folder, nodes=nodes, check_members=True, member_timeout=60, root=base),
        task(folder, nodes=nodes, check_members=True, member_timeout=60, root=f"{base}-root", check=True),
    )
    assert missing["msg"].startswith(
        f"3 of 3 members do not serve this host: {cold.members[0].address} has no znode {base}, without which"
    )
    assert served["changed"]
    assert contents(folder) == before
