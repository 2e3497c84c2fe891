# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The record of an exchange survives being written and read, and no other run's record is overwritten."""

from __future__ import annotations

import json

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import FormatError, LeaseLost
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import Side
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.table.exchange_record import (
    ExchangeRecord,
    ExchangeRecords,
    ReplicaExchange,
    ServerMoment,
    parse_exchange,
)
from support.memory.pairs import PairBench
from support.memory.twins import PATH

EXCHANGE = ReplicaExchange(ServerMoment(7, 1_700_000_000), is_settled=False)
ROOT = "/partmove"


@pytest.fixture
def bench() -> PairBench:
    return PairBench(("a",))


def records(bench: PairBench, side: Side = Side.COLD) -> ExchangeRecords:
    return ExchangeRecords(bench.hot.open(), ROOT, PATH, side)


def test_a_record_is_what_was_written(bench: PairBench) -> None:
    lease = bench.leases().acquire(PATH)
    assert records(bench).read() == ExchangeRecord(Side.COLD, {})
    own = ExchangeRecords(bench.session, ROOT, PATH, Side.COLD)
    own.update(lease, lambda record: record.having("r1", EXCHANGE))
    settled = EXCHANGE._replace(is_settled=True)
    own.update(lease, lambda record: record.having("r2", settled))
    assert records(bench).read() == ExchangeRecord(Side.COLD, {"r1": EXCHANGE, "r2": settled})
    own.update(lease, lambda record: record.without("r1"))
    assert records(bench).read() == ExchangeRecord(Side.COLD, {"r2": settled})


@pytest.mark.parametrize("side", Side)
def test_the_side_of_the_last_exchange_is_known(side: Side) -> None:
    bench = PairBench(("a",))
    assert not ExchangeRecords(bench.hot.open(), "/partmove", PATH, side).is_stored
    bench.move(side.other)
    bench.move(side)
    assert ExchangeRecords(bench.hot.open(), "/partmove", PATH, side).is_stored
    assert not ExchangeRecords(bench.hot.open(), "/partmove", PATH, side.other).is_stored


def test_a_record_of_the_other_side_says_nothing(bench: PairBench) -> None:
    lease = bench.leases().acquire(PATH)
    ExchangeRecords(bench.session, ROOT, PATH, Side.COLD).update(
        lease, lambda record: record.having("r1", EXCHANGE)
    )
    assert records(bench, Side.HOT).read() == ExchangeRecord(Side.HOT, {})
    ExchangeRecords(bench.session, ROOT, PATH, Side.HOT).update(lease, lambda record: record)
    assert records(bench, Side.COLD).read() == ExchangeRecord(Side.COLD, {})


def test_without_a_lease_nothing_is_written(bench: PairBench) -> None:
    lease = bench.leases().acquire(PATH)
    own = ExchangeRecords(bench.session, ROOT, PATH, Side.COLD)
    own.update(lease, lambda record: record.having("r1", EXCHANGE))
    bench.session.expire()
    with pytest.raises(LeaseLost, match="the lock or epoch of this run"):
        records(bench).update(lease, lambda record: record.without("r1"))
    assert set(records(bench).read().replicas) == {"r1"}


def test_a_record_that_changed_since_it_was_read_is_kept(bench: PairBench) -> None:
    lease = bench.leases().acquire(PATH)
    own = ExchangeRecords(bench.session, ROOT, PATH, Side.COLD)
    own.update(lease, lambda record: record.having("r1", EXCHANGE))

    def interrupted(record: ExchangeRecord) -> ExchangeRecord:
        own.update(lease, lambda now: now.having("r2", EXCHANGE))
        return record.without("r1")

    with pytest.raises(LeaseLost, match="has changed since this run read it"):
        own.update(lease, interrupted)
    assert set(records(bench).read().replicas) == {"r1", "r2"}


def test_an_unchanged_record_is_not_written_again(bench: PairBench) -> None:
    lease = bench.leases().acquire(PATH)
    own = ExchangeRecords(bench.session, ROOT, PATH, Side.COLD)
    own.update(lease, lambda record: record)
    own.update(lease, lambda record: record)
    (znode,) = bench.session.read([own.path])
    assert znode is not None
    assert znode.stat.version == 0


@pytest.mark.parametrize(
    "change",
    [
        {"format": "other"},
        {"version": 2},
        {"side": "warm"},
        {"replicas": {"r1": {"uptime": -1, "time": 0, "is_settled": False}}},
        {"replicas": {"r1": {"uptime": 1, "time": 0}}},
    ],
)
def test_an_unknown_record_is_refused_with_its_path(bench: PairBench, change: dict[str, object]) -> None:
    lease = bench.leases().acquire(PATH)
    own = ExchangeRecords(bench.session, ROOT, PATH, Side.COLD)
    own.update(lease, lambda record: record.having("r1", EXCHANGE))
    (znode,) = bench.session.read([own.path])
    assert znode is not None
    data = json.dumps({**json.loads(znode.data), **change}).encode()
    with pytest.raises(FormatError, match=f"The data of {ROOT}/exchanges/"):
        parse_exchange(znode._replace(data=data))
