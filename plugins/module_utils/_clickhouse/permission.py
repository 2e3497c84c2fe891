# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Distinguishes what a server does not permit the user from other errors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from .._partmove.errors import NotPermitted
from .client import QueryRefused

_NOT_PERMITTED = frozenset({164, 452, 497})
"""Codes of a statement without effect: a user with readonly, a setting that may not be changed, no right."""


@contextmanager
def permitted() -> Iterator[None]:
    """Raise NotPermitted in place of the error of a server that does not permit a statement or query."""
    try:
        yield
    except QueryRefused as error:
        if error.code in _NOT_PERMITTED:
            # The message and the remedy are those of the error.
            raise NotPermitted(error.message, remedy=error.remedy) from None
        raise
