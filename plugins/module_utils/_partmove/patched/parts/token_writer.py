# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Replaces the token of a pair of ensembles before the first lease of a run, and then every ten minutes."""

from __future__ import annotations

import threading

from ...tree.ports import Clock, ZnodeStore
from .pair import write_token

SECONDS_BETWEEN = 600.0
"""A copy that is made during a long run is recognised after this time at the latest."""


class TokenWriter:
    """Writes tokens for one run. Thread-safe."""

    def __init__(self, hot: ZnodeStore, cold: ZnodeStore, clock: Clock, root: str) -> None:
        self._hot = hot
        self._cold = cold
        self._clock = clock
        self._root = root
        self._written_at: float | None = None
        self._writing = threading.Lock()

    def before_lease(self) -> bool:
        """Write a token if it is time, and return whether the pair had none. Raises as `write_token` does."""
        with self._writing:
            now = self._clock.now()
            if self._written_at is not None and 0 <= now - self._written_at < SECONDS_BETWEEN:
                return False
            is_first = write_token(self._hot, self._cold, self._root)
            self._written_at = now
            return is_first
