# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The move as the first tool of this kind did it: one request at a time, and nothing verified."""

from __future__ import annotations

import time
from collections.abc import Sequence

from support.servers.kazoo_client import connected


def move_one_by_one(hot: str, cold: str, paths: Sequence[str]) -> float:
    """Move part znodes without children from `hot` to `cold`, and return the seconds it took.

    A get for each part; exists and create for each copy; then exists and delete for each part.
    Their parents must be in `cold` already.
    """
    with connected(hot) as source, connected(cold) as target:
        begin = time.monotonic()
        found = [(path, source.get(path)[0]) for path in paths]
        for path, data in found:
            if target.exists(path) is None:
                target.create(path, data)
        for path in paths:
            if source.exists(path) is not None:
                source.delete(path)
        return time.monotonic() - begin
