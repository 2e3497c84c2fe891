# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Connection settings as people write them, which may hold secrets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .errors import PartMoveError
from .records import Kind, Record


class Settings(Record):
    """A record whose fields may all be left out but the ``needed``; one that is None counts as left out.

    No message shows a value: it may be a secret.
    """

    def __init__(
        self,
        fields: Mapping[str, Kind],
        *,
        needed: Mapping[str, Kind] | None = None,
        error: type[PartMoveError] = PartMoveError,
    ) -> None:
        super().__init__(needed or {}, fields, error=error)

    def check(self, value: Any) -> dict[str, Any]:
        """The settings that are given; raises Unfit."""
        if isinstance(value, dict):
            value = {name: each for name, each in value.items() if each is not None}
        return super().check(value)

    def shown(self, value: object) -> str:
        """What messages say of a value that is refused: nothing but its type."""
        return f"is of type {type(value).__name__}"
