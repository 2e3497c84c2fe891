# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What an XML text says, in a few bytes for each child of the root, whichever parser has read it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import NamedTuple

_BYTES = 16


class Item(NamedTuple):
    """A child of the root; or the root, a comment or an instruction beside one of these, without ``tag``."""

    tag: str
    digest: bytes


class Digest:
    """Listens to a parser; its methods are those that lxml calls on a target.

    items: in their order; the root itself, with its attributes, comes before its children.
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
        """An element begins."""
        if self._depth == 1:
            self._hash = hashlib.blake2b(digest_size=_BYTES)
            self._tag = tag
        said = sorted((_local(name), text) for name, text in attributes.items()) if attributes else ""
        event = f"<{_local(tag)} {said}>".encode()
        if not self._depth:
            self.items.append(Item("", event))
        self._hash.update(event)
        self._depth += 1

    def end(self, tag: str) -> None:
        """An element ends."""
        self._depth -= 1
        self._hash.update(f"</{_local(tag)}>".encode())
        if self._depth == 1:
            self.items.append(Item(self._tag, self._hash.digest()))

    def data(self, text: str) -> None:
        """Some text; a parser may divide it in any way."""
        if self._depth > 1:
            self._hash.update(text.replace("<", "<<").encode())
        elif not text.isspace():
            self._between += text.split()

    def comment(self, text: str) -> None:
        """A comment."""
        self._aside(f"<!--{text}-->")

    def pi(self, target: str, text: str | None = None) -> None:
        """A processing instruction."""
        self._aside(f"<?{target} {text or ''}?>")

    def close(self) -> Digest:
        """Nothing more comes."""
        return self

    def agrees_with(self, other: Digest) -> bool:
        """Whether another parser has read the same."""
        ours, theirs = ([each.digest for each in digest.items] for digest in (self, other))
        return ours == theirs and self.between == other.between

    def all_but(self, tag: str) -> list[bytes]:
        """What is said without the children of the root that have the name."""
        return [*(each.digest for each in self.items if each.tag != tag), self.between.encode()]

    def _aside(self, event: str) -> None:
        if self._depth > 1:
            self._hash.update(event.encode())
        else:
            self.items.append(Item("", hashlib.blake2b(event.encode(), digest_size=_BYTES).digest()))


def _local(name: str) -> str:
    """The name without its prefix, or without its namespace where a parser has put that in its place."""
    if name.startswith("{"):
        return name.rpartition("}")[2]
    return name.rpartition(":")[2] if ":" in name else name
