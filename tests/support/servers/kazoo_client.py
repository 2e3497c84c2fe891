# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The kazoo client that tests look at ensembles with, beside the client under test."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kazoo.client import KazooClient

START_SECONDS = 60.0
_SESSION_SECONDS = 60.0
"""The longest that the test servers grant."""


@contextmanager
def connected(hosts: str, **options: Any) -> Iterator[KazooClient]:
    """A client that has a session, which a machine that is busy for a while does not cost; ended at the end.

    Takes further options of kazoo's client.
    """
    client = KazooClient(
        hosts,
        timeout=_SESSION_SECONDS,
        connection_retry={"max_tries": -1, "max_delay": 1.0},
        **options,
    )
    client.start(timeout=START_SECONDS)
    try:
        yield client
    finally:
        client.stop()
        client.close()
