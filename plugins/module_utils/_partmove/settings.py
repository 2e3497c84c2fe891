# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Connection settings as people write them: which there are, and of which types."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Union

from .errors import PartMoveError

Types = Mapping[str, Union[type, tuple[type, ...]]]
"""The settings that there are, with the types that their values may have."""

SECONDS = (int, float)
"""The types of a duration."""


def given_settings(
    settings: object,
    types: Types,
    *,
    owner: str,
    prefix: str = "",
    error: type[PartMoveError] = PartMoveError,
) -> dict[str, Any]:
    """The settings that are not None; raises ``error`` for those that are unknown or of another type.

    ``owner`` and ``prefix`` say in the messages whose settings they are, and where. No message shows a
    value: it may be a secret.
    """
    if not isinstance(settings, Mapping):
        where = prefix.rstrip(".") or "connection settings"
        raise error(f"The {where} of {owner} are no mapping", remedy=f"Give some of {', '.join(types)}")
    given = {key: value for key, value in settings.items() if value is not None}
    for key, value in given.items():
        if key not in types:
            raise error(f"Unknown setting {prefix}{key} of {owner}", remedy=f"Use {', '.join(types)}")
        if not isinstance(value, types[key]) or (isinstance(value, bool) and types[key] is not bool):
            raise error(
                f"Setting {prefix}{key} of {owner} is of type {type(value).__name__}",
                remedy=f"Give {_said(types[key])}",
            )
    return given


def _said(kind: type | tuple[type, ...]) -> str:
    words = {
        list: "a list",
        dict: "a mapping",
        str: "text in quotes",
        bool: "true or false",
        int: "a whole number",
    }
    return "a number of seconds" if isinstance(kind, tuple) else words[kind]
