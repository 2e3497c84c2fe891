# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module sees the hot members that clickhouse-extract-from-config answers, which are those of the server.

docs/reference/configurations.md says what the server reads in each shape, and where the program differs.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.config.dialects import NEWEST
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.config.ensembles import hot_ensembles
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.config.files import Config
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.config.local_files import ConfigFiles
from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import PartMoveError
from support.files.config_page import OLD_SERVER, VERSIONS, page_cells, shown
from support.files.config_shapes import SHAPES
from support.files.modern_shapes import MODERN_SHAPES
from support.servers.config_reader import reason_of
from support.servers.ladder.extracted import Extracted, Extraction
from support.servers.ladder.forked import ForkedProgram, forked_or_skip
from support.servers.ladder.programs import Program

ALL_SHAPES = {**SHAPES, **MODERN_SHAPES}


@pytest.fixture(scope="module", params=[each for each in VERSIONS if each != OLD_SERVER])
def version_and_program(request: pytest.FixtureRequest) -> Iterator[tuple[str, ForkedProgram]]:
    """A version of ClickHouse, and its clickhouse-extract-from-config."""
    version: str = request.param
    with forked_or_skip(version, Program.EXTRACT_FROM_CONFIG) as program:
        yield version, program


@pytest.mark.parametrize("name", ALL_SHAPES)
def test_the_module_sees_the_hot_members_that_the_program_answers(
    name: str, version_and_program: tuple[str, ForkedProgram], tmp_path: Path
) -> None:
    version, program = version_and_program
    shape = ALL_SHAPES[name]
    shape.write(tmp_path)
    main = tmp_path / "config.xml"
    answer = Extraction(program, main, shape.environment_in(tmp_path)).hot_members()
    server = page_cells()[name][VERSIONS.index(version)].removesuffix(", no members")
    assert _as_on_the_page(answer, tmp_path) == (shape.extracted or server)
    assert shape.extracted != server, "the program does not differ from the server any more"
    members = _members_of_the_module(main)
    assert members is None or answer.refusal or members == answer.members


def _as_on_the_page(answer: Extracted, folder: Path) -> str:
    if answer.refusal:
        return f"does not start: {shown(reason_of(answer.refusal), folder)}"
    return ", ".join(["loads", *(host for host, _port in answer.members)])


def _members_of_the_module(main: Path) -> tuple[tuple[str, str], ...] | None:
    """The hosts and ports that the module finds; None if it says that it does not know all."""
    try:
        view = Config(ConfigFiles(str(main))).view(NEWEST)
    except PartMoveError:
        return None
    hot = hot_ensembles(view)
    if view.problem or any(each.problems for each in hot):
        return None
    return tuple((node.host, node.port) for each in hot[:1] for node in each.nodes)


@pytest.mark.parametrize("name", ["host `from_env`", "Debian's optional reference, section in config.d"])
def test_an_option_of_newer_programs_leaves_substitutions_out(
    name: str, version_and_program: tuple[str, ForkedProgram], tmp_path: Path
) -> None:
    """So --try, which is for missing keys, is no judge of what a server reads."""
    version, program = version_and_program
    shape = SHAPES[name]
    shape.write(tmp_path)
    arguments = [f"--config-file={tmp_path / 'config.xml'}", "--key=zookeeper.node.host", "--try"]
    ended = program.call(arguments, shape.environment_in(tmp_path), tmp_path)
    assert ended.status == 0
    assert ended.written == ("zk1\n" if version == "24.8" else "\n")
