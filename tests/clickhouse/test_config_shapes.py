# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every edit of the module is what real servers then find, and everything else stays; or it is refused.

What each server makes of each shape, and the module, is in docs/reference/configurations.md, which has to say
the same. A failure shows the row.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.config.dialects import (
    NEWEST,
    OLDEST,
    Dialect,
)
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.config.edit import (
    AUTO,
    ConfigChange,
    Style,
    ensure_absent,
    ensure_present,
)
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.config.ensembles import hot_ensembles
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
from support.files.config_page import OLD_SERVER, VERSIONS, page_cells, shown
from support.files.config_shapes import SHAPES, Shape
from support.files.modern_shapes import MODERN_SHAPES
from support.servers.config_reader import InstalledServer, Reading, Server, read_by_engine, read_by_server
from support.servers.ladder.forked import forked_or_skip
from support.servers.ladder.programs import Program

COLD, HOT, AUXILIARY = "cold_zookeeper", "zookeeper", "auxiliary_zookeepers/cold"
SUBSTITUTIONS = {COLD: "cold-zookeeper-servers", HOT: "zookeeper-servers", AUXILIARY: "auxiliary-zookeepers"}
COLD_HOSTS, NEW_HOSTS = ["c1", "c2"], ["zk1", "new"]
# Hosts of the hot ensemble in every shape that has one and that any server loads.
HOT_MEMBER = ["zk1"]
# What the module refuses to read.
UNREAD = {"an entity"}
ALL_SHAPES = {**SHAPES, **MODERN_SHAPES}


class Tried(NamedTuple):
    """What came of a shape with one server, as the page says it."""

    server: str
    cold: str
    hot: str
    member: str


class Ground:
    """A configuration on disk, with the server that reads it."""

    def __init__(self, shape: Shape, folder: Path, version: str, server: Server) -> None:
        shape.write(folder)
        self.folder = folder
        self.version = version
        self._shape = shape
        self._server = server
        self._environment = shape.environment_in(folder)
        self.files = ConfigFiles(str(folder / "config.xml"))

    @property
    def dialect(self) -> Dialect:
        """How the server merges files."""
        return OLDEST if self.version == OLD_SERVER else NEWEST

    @property
    def is_meant(self) -> bool:
        """Whether the module has servers of the version in mind when it edits the configuration.

        Versions such as 18.16 load the root <clickhouse>, which is newer than they are, but find no
        substitutions below it.
        """
        try:
            main = Config(self.files).main
        except PartMoveError:
            return False
        return self.dialect.may_load(main.path, main.root_tag)

    def read(self) -> Reading:
        """What the server reads now."""
        return read_by_server(self._server, self.folder / "config.xml", self._environment)

    def hot_hosts(self, reading: Reading) -> list[str] | None:
        """The hosts of the hot ensemble of the server."""
        return reading.hosts(HOT) if self.dialect is OLDEST else reading.hot_hosts()

    def contents(self) -> dict[str, bytes]:
        """All files but those of the server."""
        found = (path for path in self.folder.rglob("*") if path.is_file())
        return {str(path): path.read_bytes() for path in found if self.folder / "data" not in path.parents}

    def ensure(self, element: str, hosts: list[str] | None) -> ConfigChange:
        """Let the module put the hosts into the element, or take it out."""
        change = self.planned(element, hosts)
        replace_files(change.edits, self.files.main, backup=False)
        return change

    def planned(self, element: str, hosts: list[str] | None) -> ConfigChange:
        """What the module would do."""
        name = AUTO if element == AUXILIARY else self._shape.style or AUTO
        style = Style(name, SUBSTITUTIONS[element], f"{element.replace('/', '_')}.xml")
        if hosts is None:
            return ensure_absent(self.files, element, style)
        return ensure_present(self.files, element, ElementContent(tuple(map(Node, hosts))), style)

    def shown(self, text: str) -> str:
        """The text without the path of the folder."""
        return shown(text, self.folder)


def try_shape(ground: Ground) -> Tried:
    """Put a cold ensemble in and out, and then another hot one; assert what has to hold."""
    before = ground.read()
    if before.root is None:
        server = f"does not start: {ground.shown(before.refusal)}"
    else:
        hosts = ground.hot_hosts(before)
        server = "loads" if hosts is None else f"loads, {', '.join(filter(None, hosts)) or 'no members'}"
    _compare_views(ground, before)
    member = _put_member(ground, before)
    return Tried(server, _change_cold(ground, before), _change_hot(ground, before), member)


def _compare_views(ground: Ground, before: Reading) -> None:
    """The module sees what the server sees, wherever it knows all that the server knows."""
    try:
        view = Config(ground.files).view(ground.dialect)
    except PartMoveError:
        return
    if before.root is None or view.problem:
        assert before.root is None or not view.problem, view.problem
        return
    sections = view.sections(HOT)
    problems = [problem for section in sections for problem in section.problems()]
    if not problems and not view.unknown(HOT):
        hosts = [node.host for node in sections[0].nodes()] if sections else None
        assert hosts == before.hosts(HOT)


def _put_member(ground: Ground, before: Reading) -> str:
    """Give a member of hot to an auxiliary ensemble, which is never done without a word."""
    try:
        change = ground.planned(AUXILIARY, HOT_MEMBER)
    except PartMoveError:
        return "refused"
    if change.unknown:
        return "warning"
    assert not ground.is_meant or before.root is None or HOT_MEMBER[0] not in (ground.hot_hosts(before) or [])
    return "allowed"


def _change_cold(ground: Ground, before: Reading) -> str:
    contents = ground.contents()
    try:
        change = ground.ensure(COLD, COLD_HOSTS)
    except PartMoveError as error:
        assert ground.contents() == contents
        return f"refuses: {ground.shown(error.message)}"
    if before.root is not None and ground.is_meant:
        after = ground.read()
        assert after.hosts(COLD) == COLD_HOSTS
        assert ground.hot_hosts(after) == ground.hot_hosts(before)
        assert after.without(COLD, SUBSTITUTIONS[COLD]) == before.without(COLD, SUBSTITUTIONS[COLD])
    assert ground.ensure(COLD, COLD_HOSTS).edits == ()
    done = _where(ground, change) + (", with a warning" if change.unknown else "")
    try:
        ground.ensure(COLD, None)
    except PartMoveError as error:
        done += f"; refuses to remove: {ground.shown(error.message)}"
        for edit in change.edits:
            Path(edit.path).write_bytes(edit.before or b"")
    assert ground.contents() == contents
    return done


def _change_hot(ground: Ground, before: Reading) -> str:
    contents = ground.contents()
    try:
        change = ground.ensure(HOT, NEW_HOSTS)
    except PartMoveError as error:
        assert ground.contents() == contents
        return f"refuses: {ground.shown(error.message)}"
    if before.root is not None and ground.is_meant:
        after = ground.read()
        assert sorted(ground.hot_hosts(after) or []) == sorted(NEW_HOSTS)
        own = (HOT, SUBSTITUTIONS[HOT], change.substitution)
        assert after.without(*own) == before.without(*own)
    return _where(ground, change)


def _where(ground: Ground, change: ConfigChange) -> str:
    return " and ".join(ground.shown(edit.path) for edit in change.edits) or "nothing to do"


def page_rows() -> Mapping[str, Mapping[str, Tried]]:
    """The rows of the table: shape, version, what came of it."""
    return {
        name: {version: Tried(cells[at], *cells[len(VERSIONS) + 1 :]) for at, version in enumerate(VERSIONS)}
        for name, cells in page_cells().items()
    }


@pytest.fixture(scope="module", params=VERSIONS)
def version_and_server(request: pytest.FixtureRequest) -> Iterator[tuple[str, Server]]:
    """A version of ClickHouse, and a server of it."""
    version: str = request.param
    if version == OLD_SERVER:
        yield version, InstalledServer(request.getfixturevalue("clickhouse"))
        return
    with forked_or_skip(version, Program.SERVER) as program:
        yield version, program


@pytest.mark.parametrize("name", ALL_SHAPES)
def test_the_module_does_what_the_server_does(
    name: str, version_and_server: tuple[str, Server], tmp_path: Path
) -> None:
    version, server = version_and_server
    found = try_shape(Ground(ALL_SHAPES[name], tmp_path, version, server))
    assert page_rows().get(name, {}).get(version) == found, f"{version}: | {name} | {' | '.join(found)} |"


@pytest.mark.usefixtures("modern_engine")
@pytest.mark.parametrize("name", ALL_SHAPES)
def test_the_module_sees_the_hot_members_of_the_engine(name: str, tmp_path: Path) -> None:
    """The engine does not refuse <keeper> beside <zookeeper>, and has no <include from_zk>."""
    shape = ALL_SHAPES[name]
    shape.write(tmp_path)
    reading = read_by_engine(tmp_path / "config.xml", shape.environment_in(tmp_path))
    if not reading.starts:
        found = "does not start"
    else:
        found = ", ".join(["loads", *reading.hosts])
        if name not in UNREAD:
            view = Config(ConfigFiles(str(tmp_path / "config.xml"))).view(NEWEST)
            hot = hot_ensembles(view)
            if not any(each.problems for each in hot):
                assert [node.host for each in hot[:1] for node in each.nodes] == list(reading.hosts)
    assert page_cells()[name][len(VERSIONS)] == found


def test_the_page_has_every_shape_and_no_other() -> None:
    assert list(page_rows()) == list(ALL_SHAPES)
