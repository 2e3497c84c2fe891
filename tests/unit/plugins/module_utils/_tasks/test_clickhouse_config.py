# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The task of clickhouse_config on files of this host: results, warnings and errors."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import PartMoveError
from ansible_collections.olap.partmove.plugins.module_utils._tasks import clickhouse_config
from ansible_collections.olap.partmove.plugins.module_utils._tasks.clickhouse_config import ClickHouseConfig
from ansible_collections.olap.partmove.plugins.module_utils._tasks.resources import Resources
from ansible_collections.olap.partmove.plugins.module_utils._zookeeper.handshake import MemberAddress

WITHOUT_LXML = """
import sys
sys.modules["lxml"] = None
from contextlib import ExitStack
from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import PartMoveError
from ansible_collections.olap.partmove.plugins.module_utils._tasks.clickhouse_config import ClickHouseConfig
from ansible_collections.olap.partmove.plugins.module_utils._tasks.resources import Resources
params = {"path": sys.argv[1], "element": "zookeeper", "state": "absent", "style": "auto"}
params |= {"name": None, "substitution": None, "drop_in": None}
task = ClickHouseConfig(params)
try:
    task.run(Resources(params, ExitStack(), check_mode=False))
except PartMoveError as error:
    print(error, task.result())
"""


def test_missing_package_is_named(tmp_path: Path) -> None:
    config = tmp_path / "config.xml"
    config.write_bytes(b"<yandex><zookeeper/></yandex>")
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_LXML, str(config)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith(f"{sys.executable} lacks the Python package lxml (")
    assert done.stdout.endswith(
        "Run `apt-get install python3-lxml` or `pip install lxml` on this host. {'changed': False}\n"
    )
    assert config.read_bytes() == b"<yandex><zookeeper/></yandex>"


NODES = [{"host": "c1", "port": 2181, "secure": False}]
OPTIONS: dict[str, Any] = {
    "element": "cold_zookeeper",
    "name": None,
    "state": "present",
    "nodes": NODES,
    "style": "auto",
    "substitution": None,
    "drop_in": None,
    "session_timeout_ms": None,
    "operation_timeout_ms": None,
    "root": None,
    "identity": None,
    "check_members": False,
    "backup": False,
}


def run(path: Path, **options: Any) -> dict[str, Any]:
    params = {**OPTIONS, "path": str(path), **options}
    task = ClickHouseConfig(params)
    with ExitStack() as stack:
        task.run(Resources(params, stack, check_mode=False))
    return task.result()


@pytest.fixture
def config(tmp_path: Path) -> Path:
    (tmp_path / "config.d").mkdir()
    return tmp_path / "config.xml"


@pytest.mark.parametrize(
    "include_from",
    [
        "<include_from>metrika.xml</include_from>",
        "<include_from from_env='METRIKA'/>",
        "<include_from>{folder}/config.d/metrika.xml</include_from>",
        "<include_from/>",
    ],
)
def test_any_file_of_substitutions_lets_an_element_out(include_from: str, config: Path) -> None:
    (config.parent / "config.d" / "metrika.xml").write_text("<yandex/>")
    config.write_text(f"<yandex>{include_from.format(folder=config.parent)}</yandex>")
    before = config.read_bytes()
    present = run(config, style="inline")
    absent, again = run(config, state="absent"), run(config, state="absent")
    assert (present["changed"], absent["changed"], again["changed"]) == (True, True, False)
    assert absent["modified"] > 0
    assert config.read_bytes() == before


def test_uncompared_settings_and_other_names_are_warnings(config: Path) -> None:
    config.write_text("<yandex><zookeeper><node><host from_env='H'/></node></zookeeper></yandex>")
    config.with_name("link").hardlink_to(config)
    warnings = run(config, style="inline")["warnings"]
    assert [warning.partition(":")[0].split(" ", 1)[1] for warning in warnings] == [
        "every member of <zookeeper> was compared with those of <cold_zookeeper>",
        "has 2 names (hard links). It is replaced as a whole, so the other names keep what was there before.",
    ]
    assert run(config)["warnings"] == warnings[:1]


def test_a_configuration_that_is_a_link_to_nothing(config: Path) -> None:
    config.symlink_to("nowhere.xml")
    with pytest.raises(PartMoveError, match=f"^{config} is a link to nowhere.xml, which does not exist"):
        run(config)


@pytest.mark.parametrize(
    ("options", "root", "identity"),
    [
        ({}, "/old", "old:secret"),
        ({"root": "/new", "identity": "new:secret"}, "/new", "new:secret"),
        ({"root": "", "identity": ""}, "", ""),
    ],
)
def test_members_are_asked_with_the_settings_after_the_change(
    options: dict[str, str], root: str, identity: str, config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A setting without an option stays in the configuration."""
    config.write_text(
        "<yandex><cold_zookeeper><node><host>c9</host></node><root>/old/</root><identity>old:secret</identity>"
        "</cold_zookeeper></yandex>"
    )
    asked: list[tuple[object, ...]] = []
    monkeypatch.setattr(clickhouse_config, "check_members", lambda *given: asked.append(given))
    run(config, check_members=True, member_timeout=5.0, **options)
    assert asked == [([MemberAddress("c1", 2181)], root, 5.0, identity)]


def test_an_identity_that_only_the_server_knows_is_not_guessed(
    config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config.write_text(
        "<yandex><cold_zookeeper><node><host>c9</host></node><identity from_env='I'/></cold_zookeeper>"
        "</yandex>"
    )
    asked: list[tuple[object, ...]] = []
    monkeypatch.setattr(clickhouse_config, "check_members", lambda *given: asked.append(given))
    run(config, check_members=True, member_timeout=5.0)
    assert asked == [([MemberAddress("c1", 2181)], "", 5.0, "")]


@pytest.mark.parametrize(
    ("element", "name", "words"),
    [
        ("cold_zookeeper", "cold", "<cold_zookeeper> has no name"),
        ("auxiliary_zookeepers", "default", "not a valid name of an auxiliary ensemble"),
        ("auxiliary_zookeepers", "a.b", "not a valid name of an auxiliary ensemble"),
        ("auxiliary_zookeepers", "", "not a valid name of an auxiliary ensemble"),
    ],
)
def test_invalid_names_of_ensembles(element: str, name: str, words: str) -> None:
    with pytest.raises(PartMoveError, match=words):
        ClickHouseConfig({**OPTIONS, "element": element, "name": name})
