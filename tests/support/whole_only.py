# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether a run of the tests leaves a case to `make test WHOLE=1`; `shares` says which ones, and why."""

from __future__ import annotations

import os

from support.share import EVERY, Share
from support.shares import SHARES


def share_of(file: str, test: str) -> Share | None:
    """Return which cases of a test run in `make test`; nothing where all of them do."""
    tests = SHARES.get(file, {})
    return tests.get(test, tests.get(EVERY))


def is_whole() -> bool:
    """Whether this run of the tests leaves out no cases."""
    return bool(os.environ.get("RUNGS") or os.environ.get("WHOLE"))


def every_other(count: int, first: int) -> range:
    """Return the numbers of every second operation of ``count``, from the first or the second one.

    Of all operations in whole runs. first: any number; even for the first one.
    """
    return range(count) if is_whole() else range(first % 2, count, 2)


def is_left_out(file: str, test: str, place: int, case: str) -> bool:
    """Whether this run leaves a case to `make test WHOLE=1`.

    file: below tests. place, case: see `Share.has`; 0 and empty without parameters.
    """
    share = share_of(file, test)
    return share is not None and not is_whole() and not share.has(place, case)
