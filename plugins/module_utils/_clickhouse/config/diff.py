# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Versions of a file for people to compare, without its secrets."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from .edit import FileEdit
from .xml_document import XmlFile
from .xml_scan import Element

_SECRET = re.compile(r"identity|.*password.*|.*secret.*", re.IGNORECASE)


class RedactedEdit(NamedTuple):
    """Both versions of a file as text; empty where there is no file."""

    path: str
    before: str
    after: str


def redacted(edit: FileEdit) -> RedactedEdit:
    """What may be shown of an edit; that a secret has changed can be seen, but not what it is."""
    known: dict[bytes, str] = {}
    before = _hidden(edit.path, edit.before, known, "hidden")
    after = _hidden(edit.path, edit.after, known, "hidden, changed")
    return RedactedEdit(edit.path, before, after)


def _hidden(path: str, data: bytes | None, known: dict[bytes, str], name: str) -> str:
    if data is None:
        return ""
    file = XmlFile(path, data)
    parts, at = [], 0
    for element in _secrets(file.root):
        secret = file.text[element.open_end : element.close_start]
        parts += [file.text[at : element.open_end], known.setdefault(secret, f"({name})").encode()]
        at = element.close_start
    return b"".join([*parts, file.text[at:]]).decode()


def _secrets(element: Element) -> Iterator[Element]:
    """The outermost elements whose content is nobody's business, in their order."""
    for child in element.children:
        if _SECRET.fullmatch(child.tag):
            if child.open_end < child.close_start:
                yield child
        else:
            yield from _secrets(child)
