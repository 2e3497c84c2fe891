# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The difference of an ensemble from its desired state; test_config_reload uses real servers."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.client import ClickHouseClient
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.config.zookeeper_element import (
    ElementContent,
    Node,
)
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.known_ensemble import (
    EnsembleOfServer,
    KnownEnsemble,
)
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.options import ClickHouseOptions

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
