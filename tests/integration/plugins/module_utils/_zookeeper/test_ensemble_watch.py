# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a watch on an ensemble notices: answers that come late, and a member that falls behind."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import EnsembleUnreachable
from ansible_collections.olap.partmove.plugins.module_utils._zookeeper.four_letters import ask_member
from ansible_collections.olap.partmove.plugins.module_utils._zookeeper.options import EnsembleOptions
from ansible_collections.olap.partmove.plugins.module_utils._zookeeper.watch import EnsembleWatch
from support.servers.kazoo_client import connected
from support.servers.proxy import ZooKeeperProxy
from support.servers.replicated import wait_for
from support.servers.zookeeper import Ensemble

NEVER = 1e6
"""Seconds that no answer takes."""

WatchOn = Callable[..., EnsembleWatch]


@pytest.fixture
def watch_on() -> Iterator[WatchOn]:
    """Return a function that watches hosts; how long their answers may take comes first."""
    with ExitStack() as stack:

        def watch(allowed: float, *hosts: str, members: bool = True) -> EnsembleWatch:
            options = EnsembleOptions("hot", hosts, connect_timeout=60.0)
            made = EnsembleWatch(options, allowed, members=members)
            stack.callback(made.close)
            return made

        yield watch


def test_answers_that_come_late_are_noticed_until_they_come_in_time(watch_on: WatchOn, hot: Ensemble) -> None:
    with ZooKeeperProxy(hot.members[0].address) as proxy:
        # A busy machine is slow by itself.
        allowed = 5.0
        watch = watch_on(allowed, proxy.address)
        assert watch.problem() == ""
        proxy.slow(4 * allowed)
        wait_for(lambda: watch.problem().startswith("ensemble hot takes "))
        proxy.slow(0.0)
        wait_for(lambda: watch.problem() == "")


def test_an_ensemble_that_does_not_answer_at_all_is_noticed(watch_on: WatchOn, hot: Ensemble) -> None:
    with ZooKeeperProxy(hot.members[0].address) as proxy:
        watch = watch_on(2.0, proxy.address)
        proxy.pause()
        wait_for(lambda: watch.problem().startswith("ensemble hot takes "))
        proxy.restore()
        wait_for(lambda: watch.problem() == "")


def test_a_member_that_falls_behind_is_noticed(watch_on: WatchOn, cold: Ensemble, base: str) -> None:
    follower = next(each for each in cold.members if each.mode() == "follower")
    others = [each.address for each in cold.members if each is not follower]
    with connected(",".join(others)) as client:
        watch = watch_on(NEVER, *(each.address for each in cold.members))
        assert watch.problem() == ""
        client.create(base, b"")
        follower.pause()
        try:

            def has_fallen_behind() -> bool:
                client.set(base, b"more")
                return watch.problem() == (
                    f"member {follower.address} of ensemble hot has fallen behind the others"
                )

            wait_for(has_fallen_behind)
        finally:
            follower.resume()
        wait_for(lambda: watch.problem() == "")


def test_members_that_do_not_tell_how_they_are_are_let_be(watch_on: WatchOn, hot: Ensemble) -> None:
    """As behind a proxy, or where the word is not allowed."""
    with ZooKeeperProxy(hot.members[0].address, answers_words=False) as proxy:
        assert ask_member(EnsembleOptions("hot", (proxy.address,)), proxy.address, 1.0) is None
        assert watch_on(NEVER, proxy.address).problem() == ""


def test_an_ensemble_that_is_not_there_is_told() -> None:
    options = EnsembleOptions("hot", ("127.0.0.1:9",), connect_timeout=1.0)
    with pytest.raises(EnsembleUnreachable, match="the watch on ensemble hot"):
        EnsembleWatch(options, 1.0, members=True)
