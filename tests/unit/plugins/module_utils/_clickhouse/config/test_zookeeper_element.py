# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The content of <zookeeper>, and edits of this content."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.config.xml_document import XmlFile
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.config.zookeeper_element import (
    ElementContent,
    Node,
    edits_to,
    nodes_of,
    render,
    setting_of,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import (
    FormatError,
    PartMoveError,
)

OPTIONS: dict[str, Any] = {
    "nodes": [
        {"host": "c1", "port": 2181, "secure": False},
        {"host": "c2", "port": 2281, "secure": True},
    ],
    "session_timeout_ms": 30_000,
    "operation_timeout_ms": 0,
    "root": "/cold",
    "identity": None,
}


def file_with(inner: str) -> XmlFile:
    return XmlFile("f", f"<yandex>\n<zookeeper>{inner}</zookeeper>\n</yandex>".encode())


def after(inner: str, content: ElementContent) -> str:
    """Return the content of the element after the edit."""
    file = file_with(inner)
    changed = file.spliced(edits_to(file, file.named("zookeeper")[0], content), "zookeeper")
    return changed.text.split(b"<zookeeper>")[1].split(b"</zookeeper>")[0].decode()


@pytest.mark.parametrize(
    ("nodes", "settings", "sentence"),
    [
        ((), {}, "No nodes are given"),
        ((Node(""),), {}, "'' in nodes is not a host"),
        ((Node("a b"),), {}, "'a b' in nodes is not a host"),
        ((Node("::1"),), {}, r"'::1' in nodes is not a host. Give a name or an address, IPv6 as \[::1\]"),
        ((Node("a", "0"),), {}, "The port 0 of a in nodes does not exist"),
        ((Node("a", "65536"),), {}, "The port 65536 of a"),
        ((Node("a"), Node("A", secure=True)), {}, "a:2181 is in nodes twice"),
        ((Node("a"),), {"session_timeout_ms": "-1"}, "session_timeout_ms is -1"),
        ((Node("a"),), {"root": "cold"}, "root is 'cold', which is not the path"),
        ((Node("a"),), {"root": "/a/../b"}, "which is not the path"),
        ((Node("a"),), {"root": "/a/"}, "which is not the path"),
        ((Node("a"),), {"identity": "user"}, "identity is not user:password"),
        ((Node("a"),), {"identity": ":secret"}, "identity is not user:password"),
        ((Node("a"),), {"identity": "user:secret\n"}, "identity has a character that cannot be written"),
    ],
)
def test_invalid_content_is_refused(nodes: tuple[Node, ...], settings: dict[str, str], sentence: str) -> None:
    with pytest.raises(PartMoveError, match=sentence) as caught:
        ElementContent(nodes, settings)
    assert "secret" not in str(caught.value)


def test_content_from_module_options() -> None:
    assert ElementContent.of(OPTIONS) == ElementContent(
        (Node("c1", "2181"), Node("c2", "2281", secure=True)),
        {"session_timeout_ms": "30000", "operation_timeout_ms": "", "root": "/cold"},
    )
    with pytest.raises(PartMoveError, match="^No nodes are given"):
        ElementContent.of(OPTIONS | {"nodes": None})


def test_an_identity_is_not_shown() -> None:
    assert "hunter2" not in repr(ElementContent((Node("a"),), {"identity": "user:hunter2"}))


def test_members_that_an_element_names() -> None:
    file = file_with(
        "<node><host>C1</host></node><node2><host>c2</host><port>1</port><secure> yes </secure></node2><x/>"
    )
    found = nodes_of(file.named("zookeeper")[0], "f")
    assert [node for _child, node in found] == [Node("C1"), Node("c2", "1", secure=True)]
    assert [child.tag for child, _node in found] == ["node", "node2"]
    assert [node.address for _child, node in found] == ["c1:2181", "c2:1"]


@pytest.mark.parametrize(
    "inner",
    ["<node incl='x'/>", "<node><host from_zk='/x'/></node>", "<node><port from_env='P'/></node>"],
)
def test_a_member_that_only_the_server_can_resolve_is_refused(inner: str) -> None:
    with pytest.raises(FormatError, match="so its value is unknown here"):
        nodes_of(file_with(inner).named("zookeeper")[0], "f")


def test_a_setting_may_exist_once() -> None:
    element = file_with("<root>/a</root><identity>u:p</identity><identity>u:q</identity>").named("zookeeper")[
        0
    ]
    found = setting_of(element, "root", "f")
    assert found is not None
    assert found.text == "/a"
    assert setting_of(element, "session_timeout_ms", "f") is None
    with pytest.raises(FormatError, match="^<zookeeper> in f has <identity> 2 times"):
        setting_of(element, "identity", "f")


def test_the_lines_of_a_new_element() -> None:
    content = ElementContent((Node("a"), Node("b", "1", secure=True)), {"root": "", "identity": "u:<p>"})
    assert render("<z incl='x'>", "z", content, b"  ", "<!-- r -->") == [
        b"<z incl='x'>",
        b"  <!-- r -->",
        b'  <node index="1">',
        b"    <host>a</host>",
        b"    <port>2181</port>",
        b"  </node>",
        b'  <node index="2">',
        b"    <host>b</host>",
        b"    <port>1</port>",
        b"    <secure>1</secure>",
        b"  </node>",
        b"  <identity>u:&lt;p&gt;</identity>",
        b"</z>",
    ]


A = '<node index="1"><host>a</host></node>'
B = '<node index="2"><host>b</host></node>'


@pytest.mark.parametrize(
    ("inner", "content", "expected"),
    [
        (A, ElementContent((Node("a"),)), A),
        (A + B, ElementContent((Node("b"),)), B),
        (A, ElementContent((Node("a"),), {"root": ""}), A),
        (f"{A}<root>/x</root>", ElementContent((Node("a"),)), f"{A}<root>/x</root>"),
        (f"{A}<root>/x</root>", ElementContent((Node("a"),), {"root": ""}), A),
        (f"{A}<root>/x</root>", ElementContent((Node("a"),), {"root": "/y"}), f"{A}<root>/y</root>"),
        (f"{A}<root/>", ElementContent((Node("a"),), {"root": "/y"}), f"{A}<root>/y</root>"),
        (f"{A}{A}", ElementContent((Node("a"),)), A),
    ],
    ids=["the same", "one less", "nothing to remove", "left alone", "removed", "changed", "filled", "twice"],
)
def test_only_differences_are_changed(inner: str, content: ElementContent, expected: str) -> None:
    assert after(inner, content) == expected


def test_a_new_member_gets_an_index_that_is_free() -> None:
    text = after(A + B, ElementContent((Node("b"), Node("c"), Node("d"))))
    assert text.startswith(B)
    assert [line.strip() for line in text.splitlines() if "index" in line][1:] == [
        '<node index="1">',
        '<node index="3">',
    ]


def test_a_setting_from_a_substitution_is_not_overwritten() -> None:
    with pytest.raises(FormatError, match="^<root> in f has the attribute from_env"):
        after(f"{A}<root from_env='R'/>", ElementContent((Node("a"),), {"root": "/y"}))
