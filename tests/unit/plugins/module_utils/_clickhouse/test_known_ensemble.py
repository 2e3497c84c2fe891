# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The difference of an ensemble from its desired state; test_reload uses real servers."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.client import (
    ClickHouseClient,
    QueryRefused,
)
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.config.zookeeper_element import (
    ElementContent,
    Node,
)
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.known_ensemble import (
    EnsembleOfServer,
    KnownEnsemble,
)
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.options import ClickHouseOptions
from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import (
    FormatError,
    PartMoveError,
)

NOBODY = ClickHouseClient("127.0.0.1", 1, ClickHouseOptions())
UNKNOWN = "Unknown auxiliary ZooKeeper name 'cold'"
KNOWN = KnownEnsemble(read=True, answers=True, problem="", connected=())


def difference(known: KnownEnsemble, *desired: Node) -> str:
    server = EnsembleOfServer(NOBODY, "cold", ElementContent(desired or (Node("c1"),)), [])
    return server.difference(known)


@pytest.mark.parametrize(
    ("known", "text", "is_known"),
    [
        (KNOWN, "", True),
        (KNOWN._replace(read=None), "", True),
        (KNOWN._replace(answers=None), "", True),
        (
            KNOWN._replace(read=False),
            "its preprocessed configuration does not have the desired element",
            False,
        ),
        (KNOWN._replace(read=None, answers=False, problem=UNKNOWN), UNKNOWN, False),
        (KNOWN._replace(answers=False, problem="Session expired"), "Session expired", True),
    ],
)
def test_differences_of_a_known_ensemble(known: KnownEnsemble, text: str, is_known: bool) -> None:
    assert (difference(known), known.is_known) == (text, is_known)


@pytest.mark.parametrize(
    ("connected", "desired", "strange"),
    [
        (Node("c1"), [Node("C1")], False),
        (Node("c2"), [Node("c1")], True),
        (Node("c1", "2182"), [Node("c1")], True),
        (Node("10.0.0.1"), [Node("10.0.0.2")], True),
        # The name of the address is unknown.
        (Node("10.0.0.1"), [Node("c1"), Node("10.0.0.2")], False),
        (Node("10.0.0.1", "2182"), [Node("c1"), Node("10.0.0.2")], True),
        (Node("::1"), [Node("[::1]")], False),
    ],
)
def test_a_session_with_a_foreign_member(connected: Node, desired: list[Node], strange: bool) -> None:
    text = difference(KNOWN._replace(connected=(connected,)), *desired)
    assert text == (f"it has a session with {connected.address}, which is no member" if strange else "")


class Before2025(ClickHouseClient):
    """A server that shows its sessions, and of the auxiliary ensemble nothing else."""

    def __init__(self, host: str = "", refusal: tuple[int, str] | None = None) -> None:
        super().__init__("h", 8123, ClickHouseOptions())
        self._session = [[host, 2181]]
        self._refusal = refusal

    def rows(self, sql: str, **_settings: int) -> list[list[Any]]:
        if "system.columns" in sql:
            return [["name"]]
        assert "FROM system.zookeeper_connection WHERE name = 'cold'" in sql
        return self._session

    def execute(self, sql: str, **settings: int) -> None:
        assert sql == "SYSTEM RELOAD CONFIG"
        if self._refusal is not None:
            raise QueryRefused(self.label, *self._refusal)


@pytest.mark.parametrize(
    ("host", "text"),
    [
        ("c1", ""),
        ("secure://c1", ""),
        ("c9", "it has a session with c9:2181, which is no member"),
        ("secure://c9", "it has a session with c9:2181, which is no member"),
    ],
)
def test_a_session_counts_on_a_server_that_shows_nothing_else(host: str, text: str) -> None:
    """Such a server has read the members that it could not connect to, and keeps the former ones."""
    server = EnsembleOfServer(Before2025(host), "cold", ElementContent((Node("c1"),)), [])
    assert server.difference(server.read_state()) == text


PREPROCESSED = "<clickhouse><auxiliary_zookeepers><cold>{}</cold></auxiliary_zookeepers></clickhouse>"
MEMBER = "<node><host>c1</host><port>2181</port></node>"


@pytest.mark.parametrize("cut", ["", PREPROCESSED[:30]])
def test_a_file_that_the_server_is_writing_is_read_again(
    cut: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "config.xml"
    path.write_text(cut)
    monkeypatch.setattr(time, "sleep", lambda _seconds: path.write_text(PREPROCESSED.format(MEMBER)))
    server = EnsembleOfServer(Before2025("c1"), "cold", ElementContent((Node("c1"),)), [str(path)])
    assert server.read_state().read


CONFIG = """<clickhouse><auxiliary_zookeepers{parent}><cold{element}>
<node{member}><host>c1</host><port>2181</port></node><root>/r</root><identity{identity}>u:p</identity>
</cold></auxiliary_zookeepers></clickhouse>"""
HIDDEN = ' hide_in_preprocessed="true"'
ROOT = "<root>/r</root>"


@pytest.mark.parametrize(
    ("marked", "shown", "read", "is_hidden"),
    [
        ("identity", PREPROCESSED.format(MEMBER + ROOT), True, True),
        ("identity", PREPROCESSED.format(MEMBER), False, True),
        ("identity", PREPROCESSED.format(ROOT), False, True),
        ("identity", "<clickhouse/>", False, False),
        # The server has not read the mark yet.
        ("identity", PREPROCESSED.format(MEMBER + ROOT + "<identity>u:q</identity>"), False, False),
        ("member", PREPROCESSED.format(ROOT + "<identity>u:p</identity>"), None, True),
        ("element", "<clickhouse><auxiliary_zookeepers/></clickhouse>", None, True),
        ("parent", "<clickhouse/>", None, True),
        ("", PREPROCESSED.format(MEMBER + ROOT), False, False),
    ],
)
def test_what_the_configuration_hides_is_unknown(
    marked: str, shown: str, *, read: bool | None, is_hidden: bool, tmp_path: Path
) -> None:
    config, preprocessed = tmp_path / "config.xml", tmp_path / "preprocessed.xml"
    preprocessed.write_text(shown)
    names = ("parent", "element", "member", "identity")
    config.write_text(CONFIG.format(**{name: HIDDEN if name == marked else "" for name in names}))
    desired = ElementContent((Node("c1"),), {"identity": "u:p", "root": "/r"})
    server = EnsembleOfServer(Before2025("c1"), "cold", desired, [str(preprocessed)], str(config))
    known = server.read_state()
    assert (known.read, known.is_hidden) == (read, is_hidden)
    assert bool(server.difference(known)) is (read is False)


def test_nothing_is_hidden_without_the_configuration(tmp_path: Path) -> None:
    preprocessed = tmp_path / "preprocessed.xml"
    preprocessed.write_text(PREPROCESSED.format(MEMBER))
    desired = ElementContent((Node("c1"),), {"identity": "u:p"})
    missing = str(tmp_path / "config.xml")
    server = EnsembleOfServer(Before2025("c1"), "cold", desired, [str(preprocessed)], missing)
    known = server.read_state()
    assert (known.read, known.is_hidden) == (False, False)


def test_a_file_that_stays_cut_off_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "config.xml"
    path.write_text(PREPROCESSED[:30])
    monkeypatch.setattr(time, "sleep", lambda _seconds: None)
    server = EnsembleOfServer(Before2025("c1"), "cold", ElementContent((Node("c1"),)), [str(path)])
    with pytest.raises(FormatError, match="is not well-formed XML"):
        server.read_state()


_OF_ENSEMBLE = (
    "Coordination::Exception: All connection tries failed while connecting to ZooKeeper. nodes: c1:2181"
)
_OF_FILE = "Failed to merge config with '/etc/clickhouse-server/config.d/broken.xml'"


@pytest.mark.parametrize(
    ("code", "text", "message", "remedy"),
    [
        (999, _OF_ENSEMBLE, "h:8123 cannot connect to an ensemble of its", "Check that the members serve"),
        (347, f"Code: 999. {_OF_ENSEMBLE}", "cannot connect to an ensemble of its", "Check that the members"),
        (347, _OF_FILE, "refused a query with code 347: ", "Grant the user SYSTEM RELOAD CONFIG"),
        (497, "Not enough privileges", "refused a query with code 497: ", "Grant the user SYSTEM RELOAD"),
    ],
)
def test_why_a_server_does_not_reload(code: int, text: str, message: str, remedy: str) -> None:
    server = EnsembleOfServer(Before2025(refusal=(code, text)), "cold", ElementContent((Node("c1"),)), [])
    with pytest.raises(PartMoveError) as refused:
        server.reload()
    assert message in refused.value.message
    assert refused.value.message.endswith(text)
    assert refused.value.remedy.startswith(remedy)


@pytest.mark.parametrize(
    ("known", "shown"),
    [
        (KNOWN, True),
        (KNOWN._replace(answers=None), False),
        (KNOWN._replace(answers=None, connected=(Node("c1"),)), True),
        (KNOWN._replace(answers=False), False),
    ],
)
def test_whether_a_session_is_shown(known: KnownEnsemble, *, shown: bool) -> None:
    assert known.shows_session is shown
