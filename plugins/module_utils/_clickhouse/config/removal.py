# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Takes elements out of a configuration: those that were put in here so that nothing of them is left."""

from __future__ import annotations

from collections.abc import Sequence

from ..._partmove.errors import FormatError
from .draft import Draft
from .sections import Meaning, Piece
from .xml_document import XmlFile

# This comment is in what was added, so that what is taken out again is that and no more.
MARK = "<!-- Added by olap.partmove.clickhouse_config -->"
_NEW_FILE = '<?xml version="1.0"?>\n<!-- Made by olap.partmove.clickhouse_config -->\n<{root}>\n</{root}>\n'


def new_file(path: str, root: str) -> XmlFile:
    """A file that does not exist yet, with nothing in it."""
    return XmlFile(path, _NEW_FILE.format(root=root).encode(), exists=False)


def take_out(draft: Draft, piece: Piece, pieces: Sequence[Piece]) -> None:
    """Take a piece of an element out, with the substitution that it refers to."""
    config, element = draft.before, piece.element
    name = element.attributes.get("incl", "")
    meaning = config.meaning_of(name) if name else Meaning()
    # A reference that somebody wrote before its substitution existed stays as it was then.
    stays = bool(name) and not meaning.problem and "optional" in element.attributes and not _is_ours(piece)
    if not stays:
        _remove(draft, piece)
    if meaning.found is None:
        return
    ours = sum(each.element.attributes.get("incl") == name for each in pieces)
    is_shared = config.uses_of(name) > ours
    if stays and is_shared:
        raise FormatError(
            f"<{element.tag}> in {piece} takes its value from {name}, which another element uses as well",
            remedy="Remove the reference by hand",
        )
    # A substitution that somebody else wrote stays: it does nothing without the reference.
    if not is_shared and not (_is_ours(piece) and not _is_ours(meaning.found)):
        _remove(draft, meaning.found)


def take_out_leftover(draft: Draft, name: str) -> None:
    """Take out a substitution that was made here, and that nothing refers to."""
    file = draft.before.substitutions()
    if file is None or draft.before.uses_of(name):
        return
    marked = [piece for piece in (Piece(file, each) for each in file.named(name)) if _is_ours(piece)]
    if marked:
        _remove(draft, marked[0])


def _remove(draft: Draft, piece: Piece) -> None:
    """Take an element out of its file, and what it was in and the file away if they were made for it."""
    draft.remove(piece)
    left = draft.remove_parent(piece, MARK.encode())
    if left.data == new_file(left.path, left.root_tag).data:
        draft.delete(left)


def _is_ours(piece: Piece) -> bool:
    """Whether the element was written here, as a reference or as a substitution."""
    file, element = piece
    return isinstance(file, XmlFile) and MARK.encode() in file.text[element.start : element.end]
