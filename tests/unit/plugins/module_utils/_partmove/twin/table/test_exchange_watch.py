# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs wait for what is older than an exchange, whatever another run or a server does meanwhile."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.ledgers import NoLedgers
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.run import (
    TwinMoveContext,
    without_readers,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import Side
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.table.exchange_record import (
    ServerMoment,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.table.exchange_watch import (
    ExchangeWatch,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.table.older_inserts import (
    InsertsInProgress,
)
from support.memory.pairs import NOTHING, PairBench
from support.memory.twins import PATH

RUNNING = InsertsInProgress({"q1": "INSERT q1"}, {}, {})


@pytest.fixture
def bench() -> PairBench:
    return PairBench(("a",))


def watch(bench: PairBench, side: Side = Side.COLD) -> ExchangeWatch:
    bench.session = bench.hot.open()
    ports = (bench.leases(), bench.pairs, without_readers, NoLedgers())
    context = TwinMoveContext(bench.session, bench.clock, bench.journal, *ports)
    return ExchangeWatch(context, bench.pairs, PATH, side)


def test_replicas_without_older_inserts_are_settled_for_good(bench: PairBench) -> None:
    assert watch(bench).settle(bench.pair_of_each(), 0) == {"r1": (), "r2": ()}
    bench.pairs.in_progress = lambda _replica, _since: RUNNING
    assert watch(bench).settle(bench.pair_of_each(), 0) == {"r1": (), "r2": ()}
    # The record is of one side of the name.
    back = watch(bench, Side.HOT).settle(bench.pair_of_each(), 0)
    assert back == {"r1": ["INSERT q1"], "r2": ["INSERT q1"]}


def test_every_run_asks_for_what_is_older_than_the_first_moment(bench: PairBench) -> None:
    asked: list[ServerMoment] = []

    def in_progress(_replica: str, since: ServerMoment) -> InsertsInProgress:
        asked.append(since)
        return RUNNING

    bench.pairs.in_progress = in_progress
    for _run in range(2):
        assert watch(bench).settle(bench.pair_of_each(), 1) == {"r1": ["INSERT q1"], "r2": ["INSERT q1"]}
    assert len(asked) > 8
    assert len(set(asked)) == 1


def test_a_server_that_was_started_again_has_no_older_statement(bench: PairBench) -> None:
    bench.pairs.in_progress = lambda _replica, _since: RUNNING
    watch(bench).settle(bench.pair_of_each(), 0)
    bench.pairs.uptime["r2"] = 3
    assert watch(bench).settle(bench.pair_of_each(), 0) == {"r1": ["INSERT q1"], "r2": ()}


def test_an_exchange_of_another_run_is_not_settled_by_this_one(bench: PairBench) -> None:
    watch(bench).settle(bench.pair_of_each(), 0)
    first = watch(bench)
    first.records.update(bench.leases().acquire(PATH), lambda record: record.without("r1").without("r2"))
    bench.session.expire()
    bench.pairs.in_progress = lambda _replica, _since: RUNNING
    watch(bench).settle(bench.pair_of_each(), 0)

    def exchanged_meanwhile(replica: str, _since: ServerMoment) -> InsertsInProgress:
        if replica == "r1":
            other = watch(bench)
            lease = bench.leases().acquire(PATH)
            other.records.update(
                lease,
                lambda record: record.having(
                    "r1", record.replicas["r1"]._replace(moment=ServerMoment(9999, 0))
                ),
            )
            bench.session.expire()
        return NOTHING

    bench.pairs.in_progress = exchanged_meanwhile
    watch(bench).settle(bench.pair_of_each(), 0)
    settled = {name: each.is_settled for name, each in watch(bench).records.read().replicas.items()}
    assert settled == {"r1": False, "r2": True}
