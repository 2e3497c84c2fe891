# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Fixtures: stores and readers of the adapter under test."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any, Protocol

import pytest
from kazoo.client import KazooClient

from ansible_collections.olap.partmove.plugins.module_utils._zookeeper.options import EnsembleOptions
from ansible_collections.olap.partmove.plugins.module_utils._zookeeper.store import ZooKeeperStore, connect
from support.servers.kazoo_client import connected
from support.servers.zookeeper import Ensemble


class StoreMaker(Protocol):
    """Connects a store; it is closed when the test ends."""

    def __call__(self, *hosts: str, **options: Any) -> ZooKeeperStore:
        """Return the store; ``options`` are those of EnsembleOptions."""


@pytest.fixture
def open_store() -> Iterator[StoreMaker]:
    """Return a function that connects with timeouts for a slow machine."""
    with ExitStack() as stack:

        def open_with(*hosts: str, **options: Any) -> ZooKeeperStore:
            defaults: dict[str, Any] = {
                "name": "hot",
                "session_timeout": 30.0,
                "connect_timeout": 60.0,
                "operation_timeout": 60.0,
            }
            return stack.enter_context(connect(EnsembleOptions(hosts=hosts, **defaults | options)))

        yield open_with


@pytest.fixture
def chroot(kazoo: KazooClient, base: str) -> str:
    """Create `base` on the standalone server and return it."""
    kazoo.create(base)
    return base


@pytest.fixture
def kazoo(hot: Ensemble) -> Iterator[KazooClient]:
    """A client of the standalone server, to compare with."""
    with connected(hot.connect_string) as client:
        yield client


@pytest.fixture
def store(open_store: StoreMaker, hot: Ensemble, chroot: str) -> ZooKeeperStore:
    """A store of the standalone server below `chroot`."""
    return open_store(hot.members[0].address, chroot=chroot)
