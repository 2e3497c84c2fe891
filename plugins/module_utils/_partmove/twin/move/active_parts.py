# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The active parts of a partition in one of its two tables, by content and by blocks."""

from __future__ import annotations

from collections.abc import Iterable

from ...formats.names import PartName, parse_names
from .record import contents
from .tables import PartContent, Parts

_WHERE = "system.parts"


class ActiveParts:
    """The active parts of a partition in a table."""

    def __init__(self, parts: Parts, partition_id: str) -> None:
        self._partition_id = partition_id
        self.contents = contents(parts)
        self.names: list[PartName] = parse_names(self.contents, partition_id, _WHERE)

    def has(self, name: str, content: PartContent) -> bool:
        """Whether the part is active with this content."""
        return self.contents.get(name) == content

    def covers(self, name: str) -> bool:
        """Whether an active part contains the part after a merge or a mutation."""
        return bool(self.covering(*self.parsed([name])))

    def covering(self, part: PartName) -> list[PartName]:
        """Return the active parts that contain the part after a merge or a mutation; at most one."""
        return [each for each in self.names if each.text != part.text and each.covers(part)]

    def has_mutation_of(self, name: str) -> bool:
        """Whether the part is active after a mutation, which may have removed rows, and without a merge."""
        (part,) = self.parsed([name])
        return any(
            (each.min_block, each.max_block, each.level) == (part.min_block, part.max_block, part.level)
            for each in self.covering(part)
        )

    def parsed(self, names: Iterable[str]) -> list[PartName]:
        """Parse names of parts of the partition."""
        return parse_names(names, self._partition_id, _WHERE)
