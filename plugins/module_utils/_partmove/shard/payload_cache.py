# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A cache of parts, for a second read soon after the first.

The cached znodes still exist, but their data may have changed. Writers have to check the versions read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ..formats.names import PartName
from ..tree.reading import Steps
from ..tree.znodes import Query
from ..zip_strict import zip_strict
from .facts import RegisteredPart


class _Entry(NamedTuple):
    """Cached parts, and the cached listing of their folder at that time."""

    listing: object
    parts: dict[str, RegisteredPart]


class PayloadCache:
    """Cached parts by folder. Parts are valid only with the listing object they were cached with.

    The listing object of a folder is replaced after a write of another client.
    """

    def __init__(self) -> None:
        self._entries: dict[str, _Entry] = {}

    def keep(self, folder: str, listing: object, parts: Sequence[RegisteredPart]) -> None:
        """Cache the parts of a folder, read after ``listing``."""
        self._entries[folder] = _Entry(listing, {each.name.text: each for each in parts})

    def drop(self, folder: str, text: str) -> None:
        """Forget a part whose znode was deleted or created again."""
        entry = self._entries.get(folder)
        if entry is not None:
            entry.parts.pop(text, None)

    def clear(self) -> None:
        """Forget all parts."""
        self._entries.clear()

    def steps(
        self, names: Mapping[str, Sequence[PartName]], listings: Mapping[str, object]
    ) -> Steps[dict[str, Mapping[str, RegisteredPart]]]:
        """Return the valid cached parts: folder → name → part.

        The znodes of these parts are the same as when they were read, and so are their children. To verify
        the children, the part znodes with children are read: their stat shows created and deleted children.

        names: folder → names of the requested parts. listings: folder → its current listing object.
        """
        valid = {folder: self._of(folder, listings.get(folder)) for folder in names}
        requested = [valid[folder].get(name.text) for folder in names for name in names[folder]]
        parents = [part.znode for part in requested if part is not None and part.children]
        now = (yield Query([each.path for each in parents])).znodes if parents else ()
        changed = {before.path for before, znode in zip_strict(parents, now) if znode != before}
        if changed:
            valid = {
                folder: {text: part for text, part in parts.items() if part.znode.path not in changed}
                for folder, parts in valid.items()
            }
        return valid

    def _of(self, folder: str, listing: object) -> Mapping[str, RegisteredPart]:
        entry = self._entries.get(folder)
        return {} if entry is None or entry.listing is not listing else entry.parts
