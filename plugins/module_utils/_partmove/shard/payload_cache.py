# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Parts as they were read, for a look soon after that which need not read them all again.

What is kept says which znodes there are, and which data they had. These may be others by now, as the version
of the znode tells whoever writes to it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ..formats.names import PartName
from ..tree.reading import Steps
from ..tree.znodes import Query
from ..zip_strict import zip_strict
from .facts import RegisteredPart


class _Read(NamedTuple):
    """Parts that were read, and the list of their folder that was known then."""

    known: object
    parts: dict[str, RegisteredPart]


class PayloadCache:
    """The parts of some folders, and which list was known; it is another one once somebody else wrote."""

    def __init__(self) -> None:
        self._read: dict[str, _Read] = {}

    def keep(self, folder: str, known: object, parts: Sequence[RegisteredPart]) -> None:
        """Keep what was read of a folder after the list that is known."""
        self._read[folder] = _Read(known, {each.name.text: each for each in parts})

    def drop(self, folder: str, text: str) -> None:
        """Forget a part, which is another znode now, or none."""
        read = self._read.get(folder)
        if read is not None:
            read.parts.pop(text, None)

    def clear(self) -> None:
        """Forget all."""
        self._read.clear()

    def steps(
        self, names: Mapping[str, Sequence[PartName]], known: Mapping[str, object]
    ) -> Steps[dict[str, Mapping[str, RegisteredPart]]]:
        """Folder → name → part, of those that are kept; with these names they are the same znodes still.

        So are their children. Whether one was created or deleted the stat of its part tells, which is read
        for that. ``known`` has the list of each folder that is known now.
        """
        kept = {folder: self._of(folder, known.get(folder)) for folder in names}
        wanted = [kept[folder].get(name.text) for folder in names for name in names[folder]]
        parents = [part.znode for part in wanted if part is not None and part.children]
        now = (yield Query([each.path for each in parents])).znodes if parents else ()
        others = {before.path for before, znode in zip_strict(parents, now) if znode != before}
        if others:
            kept = {
                folder: {text: part for text, part in parts.items() if part.znode.path not in others}
                for folder, parts in kept.items()
            }
        return kept

    def _of(self, folder: str, known: object) -> Mapping[str, RegisteredPart]:
        read = self._read.get(folder)
        return {} if read is None or read.known is not known else read.parts
