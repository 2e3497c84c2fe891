# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The content of <zookeeper> and <cold_zookeeper>, and the edits that give an element this content."""

from __future__ import annotations

import contextlib
import ipaddress
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from xml.sax.saxutils import escape

from ..._partmove.errors import FormatError, PartMoveError
from ..._partmove.formats.layout import check_shard_path
from .xml_document import Splice, XmlFile
from .xml_scan import Element, is_true

SETTINGS = ("session_timeout_ms", "operation_timeout_ms", "root", "identity")
SUBSTITUTIONS = ("incl", "from_zk", "from_env")
DEFAULT_PORT = "2181"
_HOST = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9._-]*[A-Za-z0-9_.])?|\[[0-9A-Fa-f:.]+\]")
_CONTROL_CHARACTER = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


class Node(NamedTuple):
    """A member of an ensemble, as in the configuration of ClickHouse."""

    host: str
    port: str = DEFAULT_PORT
    secure: bool = False

    @property
    def address(self) -> str:
        """Host and port; equal for equal members, however they are spelled."""
        host = self.host.strip().lower().rstrip(".")
        if host.startswith("["):
            with contextlib.suppress(ValueError):
                host = f"[{ipaddress.IPv6Address(host.strip('[]'))}]"
        return f"{host}:{self.port.strip()}"


@dataclass(frozen=True)
class ElementContent:
    """The desired content of <zookeeper> or <cold_zookeeper>.

    nodes: every member, in any order.
    settings: name (`SETTINGS`) → text; ``""`` for a setting that must not exist. Other settings stay
        unchanged.
    """

    nodes: tuple[Node, ...]
    settings: Mapping[str, str] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        """Raise PartMoveError for content with which no ensemble could be reached."""
        if not self.nodes:
            raise PartMoveError("No nodes are given", remedy="Name every member of the ensemble in nodes")
        for node in self.nodes:
            if not _HOST.fullmatch(node.host):
                raise PartMoveError(
                    f"{node.host!r} in nodes is not a host",
                    remedy="Give a name or an address, IPv6 as [::1]",
                )
            if not 0 < int(node.port) < 65_536:
                raise PartMoveError(
                    f"The port {node.port} of {node.host} in nodes does not exist",
                    remedy="Give a port from 1 to 65535",
                )
        addresses = [node.address for node in self.nodes]
        for address in addresses:
            if addresses.count(address) > 1:
                raise PartMoveError(f"{address} is in nodes twice", remedy="Name every member once")
        self._check_settings()

    @classmethod
    def of(cls, params: Mapping[str, Any]) -> ElementContent:
        """Build the content from the options of the module. Raises PartMoveError."""
        nodes = tuple(Node(each["host"], str(each["port"]), each["secure"]) for each in params["nodes"] or ())
        present = {name: params[name] for name in SETTINGS if params[name] is not None}
        return cls(nodes, {name: str(value) if value else "" for name, value in present.items()})

    def _check_settings(self) -> None:
        for name, text in self.settings.items():
            if name.endswith("_ms") and text.startswith("-"):
                raise PartMoveError(f"{name} is {text}", remedy="Give milliseconds, or 0 for no such element")
            if _CONTROL_CHARACTER.search(text) or text != text.strip():
                raise PartMoveError(
                    f"{name} has a character that cannot be written, or white space around it",
                    remedy="Check whether it ends with a line break",
                )
        self._check_root(self.settings.get("root", ""))
        user, _colon, password = self.settings.get("identity", "").partition(":")
        if bool(user) != bool(password):
            raise PartMoveError("identity is not user:password", remedy='Write it so, or "" for none')

    def _check_root(self, root: str) -> None:
        if not root:
            return
        try:
            check_shard_path(root)
        except FormatError as error:
            raise PartMoveError(
                f"root is {root!r}, which is not the path of a znode below the root",
                remedy='Write it as /a/b, without a slash at its end, or "" for none',
            ) from error


def nodes_of(element: Element, path: str) -> list[tuple[Element, Node]]:
    """Return the members of the element. Raises FormatError for values that only the server can resolve."""
    # The server uses every child whose tag begins with "node", such as <node1>.
    children = [child for child in element.children if child.tag.startswith("node")]
    return [(child, _node_of(child, path)) for child in children]


def setting_of(element: Element, name: str, path: str) -> Element | None:
    """Return the child with the setting, or None. Raises FormatError if the setting exists twice."""
    found = element.named(name)
    if len(found) > 1:
        raise FormatError(
            f"<{element.tag}> in {path} has <{name}> {len(found)} times", remedy="Leave the one that counts"
        )
    return found[0] if found else None


def render(open_tag: str, tag: str, desired: ElementContent, unit: bytes, remark: str = "") -> list[bytes]:
    """Return the lines of a new element, without the indentation of the element itself."""
    inner = [remark.encode()] if remark else []
    for index, node in enumerate(desired.nodes, start=1):
        inner += _node_lines(node, index, unit)
    inner += [_setting_line(name, desired.settings[name]) for name in SETTINGS if desired.settings.get(name)]
    return [open_tag.encode(), *(unit + line for line in inner), f"</{tag}>".encode()]


def edits_to(file: XmlFile, element: Element, desired: ElementContent) -> list[Splice]:
    """Return the splices that give an existing element the desired content; none if nothing differs."""
    present = nodes_of(element, file.path)
    remaining: dict[Node, Element] = {}
    splices = []
    for child, node in present:
        if node in desired.nodes and node not in remaining:
            remaining[node] = child
        else:
            splices += file.removal(child)
    free = _free_indexes(remaining.values(), len(desired.nodes))
    new_nodes = [node for node in desired.nodes if node not in remaining]
    lines = [line for node in new_nodes for line in _node_lines(node, free.pop(0), file.unit(element))]
    last = present[-1][0] if present else None
    new_settings: list[bytes] = []
    for name in (each for each in SETTINGS if each in desired.settings):
        child_or_none = setting_of(element, name, file.path)
        if child_or_none is None:
            new_settings += [_setting_line(name, desired.settings[name])] if desired.settings[name] else []
        else:
            splices += _setting_edits(file, child_or_none, desired.settings[name])
    if last is None or last is element.children[-1]:
        lines, new_settings = lines + new_settings, []
    if lines:
        splices += file.insertion(lines, element, last)
    if new_settings:
        splices += file.insertion(new_settings, element, element.children[-1])
    return splices


def _node_of(child: Element, path: str) -> Node:
    # Other children, such as <availability_zone>, stay as they are.
    parts = [part for part in child.children if part.tag in {"host", "port", "secure"}]
    for each in (child, *parts):
        _refuse_substitution(each, path)
    texts = {each.tag: each.text for each in child.children}
    return Node(
        texts.get("host", ""),
        texts.get("port", DEFAULT_PORT),
        is_true(texts.get("secure", "")),
    )


def _refuse_substitution(element: Element, path: str) -> None:
    present = [name for name in SUBSTITUTIONS if name in element.attributes]
    if present:
        raise FormatError(
            f"<{element.tag}> in {path} has the attribute {present[0]}, so its value is unknown here",
            remedy="Write its value into the file, or change the source of the value by hand",
        )


def _setting_edits(file: XmlFile, child: Element, text: str) -> list[Splice]:
    _refuse_substitution(child, file.path)
    if not text:
        return file.removal(child)
    if child.text == text and not child.children:
        return []
    if child.is_empty_tag:
        return [Splice(child.start, child.end, _setting_line(child.tag, text))]
    return [Splice(child.open_end, child.close_start, escape(text).encode())]


def _setting_line(name: str, text: str) -> bytes:
    return f"<{name}>{escape(text)}</{name}>".encode()


def _node_lines(node: Node, index: int, unit: bytes) -> list[bytes]:
    inner = [("host", node.host), ("port", node.port), *([("secure", "1")] if node.secure else [])]
    lines = [unit + f"<{name}>{text}</{name}>".encode() for name, text in inner]
    return [f'<node index="{index}">'.encode(), *lines, b"</node>"]


def _free_indexes(remaining: Iterable[Element], count: int) -> list[int]:
    """Return unused numbers for new nodes, from 1."""
    used = {child.attributes.get("index", "") for child in remaining}
    return [index for index in range(1, len(used) + count + 1) if str(index) not in used]
