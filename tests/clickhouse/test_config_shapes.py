# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whatever configuration a real server loads, the module does, and the server then finds what is wanted.

The result of each shape is in docs/reference/configurations.md, which has to say the same. A failure shows
the row.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.config.edit import (
    AUTO,
    ConfigChange,
    Style,
    ensure_absent,
    ensure_present,
)
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.config.files import Config
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.config.local_files import (
    ConfigFiles,
    replace_files,
)
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.config.zookeeper_element import (
    ElementContent,
    Node,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import PartMoveError
from support.files.config_shapes import FOLDER_MARK, SHAPES, Shape
from support.servers.config_reader import Reading, read_by_server

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "configurations.md"
COLD, HOT = "cold_zookeeper", "zookeeper"
SUBSTITUTIONS = {COLD: "cold-zookeeper-servers", HOT: "zookeeper-servers"}
COLD_HOSTS, NEW_HOSTS = ["c1", "c2"], ["zk1", "new"]
# What the server loads and the module refuses, on purpose.
REFUSED = {"an entity"}
# Newer servers find substitutions there, so members are compared with these, too.
SEEN_BY_OTHERS = {"root `<yandex>`, substitutions `<clickhouse>`"}


class Tried(NamedTuple):
    """What came of a shape, as the page says it."""

    server: str
    cold: str
    hot: str


class Ground:
    """A configuration on disk, with the server that reads it."""

    def __init__(self, shape: Shape, folder: Path, program: str) -> None:
        shape.write(folder)
        self.folder = folder
        self._shape = shape
        self._program = program
        self._environment = {
            name: text.replace(FOLDER_MARK, str(folder)) for name, text in shape.environment.items()
        }
        self.files = ConfigFiles(str(folder / "config.xml"))

    def read(self) -> Reading:
        """What the server reads now."""
        return read_by_server(self._program, self.folder / "config.xml", self._environment)

    def contents(self) -> dict[str, bytes]:
        """All files but those of the server."""
        found = (path for path in self.folder.rglob("*") if path.is_file())
        return {str(path): path.read_bytes() for path in found if self.folder / "data" not in path.parents}

    def ensure(self, element: str, hosts: list[str] | None) -> ConfigChange:
        """Let the module put the hosts into the element, or take it out."""
        style = Style(self._shape.style or AUTO, SUBSTITUTIONS[element], f"{element}.xml")
        if hosts is None:
            change = ensure_absent(self.files, element, style)
        else:
            change = ensure_present(self.files, element, ElementContent(tuple(map(Node, hosts))), style)
        replace_files(change.edits, self.files.main, backup=False)
        return change

    def shown(self, text: str) -> str:
        """The text without the path of the folder."""
        return re.sub("(<[^ >]+>)", r"`\1`", text.replace(f"{self.folder}/", ""))


def try_shape(ground: Ground, name: str) -> Tried:
    """Put a cold ensemble in and out, and then another hot one; assert what has to hold."""
    before, contents = ground.read(), ground.contents()
    if before.root is None:
        return Tried(f"does not start: {ground.shown(before.refusal)}", "-", "-")
    hosts = before.hosts(HOT)
    server = "loads" if hosts is None else f"loads, {', '.join(filter(None, hosts)) or 'no members'}"
    if name in REFUSED:
        with pytest.raises(PartMoveError) as refusal:
            ground.ensure(COLD, COLD_HOSTS)
        assert ground.contents() == contents
        return Tried(server, f"refuses: {ground.shown(refusal.value.message)}", "-")

    sections = Config(ground.files).sections(HOT)
    is_known = not any(True for section in sections for _problem in section.problems())
    if is_known and name not in SEEN_BY_OTHERS:
        # The module sees what the server sees.
        assert ([node.host for node in sections[0].nodes()] if sections else None) == hosts
    change = ground.ensure(COLD, COLD_HOSTS)
    after = ground.read()
    assert after.hosts(COLD) == COLD_HOSTS
    assert after.hosts(HOT) == hosts
    assert after.without(COLD, SUBSTITUTIONS[COLD]) == before.without()
    cold = _where(ground, change)
    if change.unknown:
        cold += ", with a warning"
    assert ground.ensure(COLD, COLD_HOSTS).edits == ()
    ground.ensure(COLD, None)
    assert ground.contents() == contents
    return Tried(server, cold, _change_hot(ground, before))


def _change_hot(ground: Ground, before: Reading) -> str:
    contents = ground.contents()
    try:
        change = ground.ensure(HOT, NEW_HOSTS)
    except PartMoveError as error:
        assert ground.contents() == contents
        return f"refuses: {ground.shown(error.message)}"
    after = ground.read()
    assert sorted(after.hosts(HOT) or []) == sorted(NEW_HOSTS)
    assert after.without(HOT, SUBSTITUTIONS[HOT], *_names(change)) == before.without(
        HOT, SUBSTITUTIONS[HOT], *_names(change)
    )
    return _where(ground, change)


def _names(change: ConfigChange) -> list[str]:
    return [change.substitution] if change.substitution else []


def _where(ground: Ground, change: ConfigChange) -> str:
    return " and ".join(ground.shown(edit.path) for edit in change.edits) or "nothing to do"


def page_rows() -> Mapping[str, Tried]:
    """The rows of the last table on the page."""
    table = PAGE.read_text(encoding="utf-8").partition("| Shape |")[2]
    lines = [line for line in table.splitlines()[1:] if line.startswith("| ")]
    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]
    return {name: Tried(*rest) for name, *rest in cells if name != "---"}


@pytest.mark.parametrize("name", SHAPES)
def test_the_module_does_what_the_server_does(name: str, clickhouse: str, tmp_path: Path) -> None:
    found = try_shape(Ground(SHAPES[name], tmp_path, clickhouse), name)
    assert page_rows().get(name) == found, f"| {name} | {' | '.join(found)} |"


def test_the_page_has_every_shape_and_no_other() -> None:
    assert list(page_rows()) == list(SHAPES)
