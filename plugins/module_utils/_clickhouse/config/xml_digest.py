# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Digests of an XML text, one for each child of the root, for comparing the results of two parsers."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import NamedTuple

_BYTES = 16


class Item(NamedTuple):
    """Digest of a child of the root; without ``tag``, of the root or of a comment or instruction."""

    tag: str
    digest: bytes


class Digest:
    """A parser target, with the methods that lxml calls.

    items: in document order; the root, with its attributes, comes before its children.
    between: the text between children of the root, without white space.
    """

    def __init__(self) -> None:
        self.items: list[Item] = []
        self._between: list[str] = []
        self._depth = 0
        self._tag = ""
        self._hash = hashlib.blake2b(digest_size=_BYTES)

    @property
    def between(self) -> str:
        """The text between children of the root, without white space."""
        return "".join(self._between)

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Handle the start of an element."""
        if self._depth == 1:
            self._hash = hashlib.blake2b(digest_size=_BYTES)
            self._tag = tag
        sorted_attributes = (
            sorted((_local(name), text) for name, text in attributes.items()) if attributes else ""
        )
        event = f"<{_local(tag)} {sorted_attributes}>".encode()
        if not self._depth:
            self.items.append(Item("", event))
        self._hash.update(event)
        self._depth += 1

    def end(self, tag: str) -> None:
        """Handle the end of an element."""
        self._depth -= 1
        self._hash.update(f"</{_local(tag)}>".encode())
        if self._depth == 1:
            self.items.append(Item(self._tag, self._hash.digest()))

    def data(self, text: str) -> None:
        """Handle text, which a parser may split anywhere."""
        if self._depth > 1:
            self._hash.update(text.replace("<", "<<").encode())
        elif not text.isspace():
            self._between += text.split()

    def comment(self, text: str) -> None:
        """Handle a comment."""
        self._add_beside(f"<!--{text}-->")

    def pi(self, target: str, text: str | None = None) -> None:
        """Handle a processing instruction."""
        self._add_beside(f"<?{target} {text or ''}?>")

    def close(self) -> Digest:
        """Handle the end of the text."""
        return self

    def equals(self, other: Digest) -> bool:
        """Whether another parser has read the same content."""
        first, second = ([each.digest for each in digest.items] for digest in (self, other))
        return first == second and self.between == other.between

    def without(self, tag: str) -> list[bytes]:
        """Return the digests without the root's children with the tag."""
        return [*(each.digest for each in self.items if each.tag != tag), self.between.encode()]

    def _add_beside(self, event: str) -> None:
        if self._depth > 1:
            self._hash.update(event.encode())
        else:
            self.items.append(Item("", hashlib.blake2b(event.encode(), digest_size=_BYTES).digest()))


def _local(name: str) -> str:
    """Return the name without its prefix, or without the namespace that a parser has put in its place."""
    if name.startswith("{"):
        return name.rpartition("}")[2]
    return name.rpartition(":")[2] if ":" in name else name
