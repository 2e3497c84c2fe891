# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A real server starts with what clickhouse_config writes, and finds the cold nodes in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest
from lxml import etree

from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.config.edit import (
    Style,
    ensure_absent,
    ensure_present,
)
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.config.local_files import (
    ConfigFiles,
    replace_files,
)
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.config.zookeeper_element import (
    ElementContent,
    Node,
)
from support.files.configs import ENCODED
from support.servers.clickhouse import ClickHouseServer, ServerOptions, ZooKeeperSource

COLD, AUXILIARY = "cold_zookeeper", "auxiliary_zookeepers/cold"
NODES = (Node("c1"), Node("c2", "2281", secure=True))
SETTINGS = {"session_timeout_ms": "20000", "root": "/cold", "identity": "u:<&>é"}


@pytest.fixture(scope="module")
def server(clickhouse: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClickHouseServer]:
    """A server that is not started yet; it has no ensemble to talk to and needs none."""
    folder = tmp_path_factory.mktemp("configured")
    server = ClickHouseServer(
        "configured", folder, ZooKeeperSource("127.0.0.1:1"), ServerOptions(program=clickhouse)
    )
    yield server
    server.close()


def preprocessed(server: ClickHouseServer, element: str = COLD) -> Mapping[str, list[str]]:
    """The leaves of the element, by name, as the server has put its configuration together."""
    path = server.data_dir / "preprocessed_configs" / "config.xml"
    found = etree.fromstring(path.read_bytes()).findall(element)
    leaves: dict[str, list[str]] = {}
    for each in (leaf for element in found for leaf in element.iter("*") if len(leaf) == 0):
        leaves.setdefault(str(each.tag), []).append(each.text or "")
    return leaves


def configure(server: ClickHouseServer, encoded: str, root: str = "yandex") -> ConfigFiles:
    """Write the configuration of the server anew, with an empty file of substitutions, in an encoding."""
    server.write_config(ZooKeeperSource("127.0.0.1:1"))
    path = server.config_path
    substitutions = path.with_name("metrika.xml")
    substitutions.write_text("<yandex>\n</yandex>\n")
    text = path.read_text().replace("<logger>", f"<include_from>{substitutions}</include_from>\n<logger>", 1)
    path.write_bytes(ENCODED[encoded](text.replace("yandex>", f"{root}>")))
    return ConfigFiles(str(path))


def started_with(server: ClickHouseServer, element: str = COLD) -> Mapping[str, list[str]]:
    """Start the server, look at what it found, and stop it."""
    (server.data_dir / "preprocessed_configs" / "config.xml").unlink(missing_ok=True)
    server.start()
    try:
        return preprocessed(server, element)
    finally:
        server.stop()


@pytest.mark.parametrize(
    ("element", "style", "encoded"),
    [
        (COLD, "incl", "as written"),
        (COLD, "incl", "UTF-16"),
        (COLD, "inline", "CRLF"),
        (COLD, "inline", "Cyrillic"),
        (COLD, "drop_in", "Latin-1"),
        (AUXILIARY, "inline", "as written"),
        (AUXILIARY, "drop_in", "CRLF"),
    ],
)
def test_server_finds_the_nodes(element: str, style: str, encoded: str, server: ClickHouseServer) -> None:
    files = configure(server, encoded)
    before = contents(server)
    how = Style(style, "cold-zookeeper-servers", "ensemble.xml")

    outcome = ensure_present(files, element, ElementContent(NODES, SETTINGS), how)
    replace_files(outcome.edits, files.main, backup=False)

    assert started_with(server, element) == {
        "host": ["c1", "c2"],
        "port": ["2181", "2281"],
        "secure": ["1"],
        **{name: [value] for name, value in SETTINGS.items()},
    }
    replace_files(ensure_absent(files, element, how).edits, files.main, backup=False)
    assert contents(server) == before


def test_server_with_the_other_root_leaves_out_what_is_included(server: ClickHouseServer) -> None:
    """So the documentation says to use another style there."""
    files = configure(server, "as written", "clickhouse")
    found = {}
    for style in ("incl", "inline"):
        how = Style(style, "cold-zookeeper-servers", f"{COLD}.xml")
        replace_files(ensure_present(files, COLD, ElementContent(NODES), how).edits, files.main, backup=False)
        found[style] = started_with(server)
        replace_files(ensure_absent(files, COLD, how).edits, files.main, backup=False)
    assert found == {"incl": {}, "inline": {"host": ["c1", "c2"], "port": ["2181", "2281"], "secure": ["1"]}}


def contents(server: ClickHouseServer) -> dict[str, bytes]:
    return {
        str(path): path.read_bytes() for path in server.folder.glob("**/*.xml") if "data" not in path.parts
    }
