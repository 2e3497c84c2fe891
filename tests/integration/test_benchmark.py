# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the benchmark measures, with a few parts."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.run.duration import (
    FULL_SPEED,
    WITH_TARGET,
    Work,
)
from benchmark import bench_keeper, bench_modern, bench_reading, bench_root, bench_start, bench_twin
from benchmark.bench_classification import print_classifications, require_one_plan
from benchmark.bench_effect import measure, picture, print_effects, tables_for
from benchmark.bench_growth import TARGET, Grid, measured, print_check
from benchmark.classification import LIVE, SNAPSHOT, Classification, running_server, snapshot_of
from benchmark.effect_plot import shown
from benchmark.growth import Setting
from benchmark.growth_plot import picture as growth_picture
from benchmark.pair import REPLICAS, Pair, running_pair
from support.files.snapshot_files import GeneratedTree
from support.servers.clickhouse_config import ZooKeeperSource
from support.servers.jvm import SMALL_SPARK
from support.servers.modern.server import ModernShardMaker
from support.servers.zookeeper import Ensemble


@pytest.fixture(scope="module")
def pair() -> Iterator[Pair]:
    with running_pair(cold_members=1) as pair:
        yield pair


@pytest.mark.parametrize("legacy", [False, True])
def test_a_move_is_measured_by_phase(pair: Pair, legacy: bool) -> None:
    measured = pair.measure(pair.build(f"legacy_is_{legacy}", 20, legacy=legacy))

    assert measured.parts == 60
    assert list(measured.phases) == [
        "read",
        "gates",
        "copy",
        "verify",
        "switch",
        "post_switch_check",
        "other",
    ]
    assert all(phase.seconds > 0 for phase in measured.phases.values())
    assert sum(phase.seconds for phase in measured.phases.values()) == pytest.approx(measured.seconds)
    assert all(measured.phases[name].client_seconds > 0 for name in ("read", "copy", "verify", "switch"))
    assert 0 < measured.idle_rss_mb < measured.peak_rss_mb


def test_the_requests_of_a_move_are_measured_alone(pair: Pair) -> None:
    table = pair.build("alone", 1100)

    measured = pair.measure_requests(table)
    moved = pair.measure(pair.build("not_alone", 1100))

    assert measured.client.parts == moved.parts == 3300
    assert 0 < measured.client.client_cpu_seconds < moved.client_cpu_seconds
    assert measured.servers_cpu_seconds > 0
    assert moved.servers_cpu_seconds > 0
    assert measured.client.requests > 3 * 3300 // 500
    states = {table.state(each) for each in table.options.partitions}
    assert states == {b"COLD"}


def test_the_other_way_moves_what_it_says(pair: Pair) -> None:
    table = pair.build("baseline", 20)

    measured = pair.measure_baseline(table, 5)

    assert measured.parts == 15
    assert measured.seconds > 0
    for number, partition in enumerate(table.options.partitions):
        parts = {replica: [f"{partition}_0_0_0"] for replica in REPLICAS}
        nothing: dict[str, list[str]] = {replica: [] for replica in REPLICAS}
        assert table.registered(pair.cold_client, partition) == (parts if number < 5 else nothing)
        assert table.registered(pair.hot_client, partition) == (nothing if number < 5 else parts)


def test_a_daily_run_is_measured_near_and_far_away(pair: Pair) -> None:
    tables = [pair.build(f"daily_{number}", 4) for number in range(4)]
    first, second, third, fourth = tables[0].options.partitions
    pair.measure_daily(tables, first)

    near = pair.measure_daily(tables, second)
    far = pair.measure_daily(tables, third, latency=0.02)
    again = pair.measure_daily(tables, third)
    divided = pair.measure_daily(tables, fourth, processes=2)

    assert [each.moved for each in (near, far, again, divided)] == [4, 4, 0, 4]
    assert again.unchanged == 4
    # What a run takes once, such as sessions, is in it: so many as for some more shard paths.
    assert 4 * 20 < near.requests < 4 * 80
    # Each request goes there and back, and two dozen come one after the other.
    assert far.seconds > near.seconds > 0


def test_growth_is_measured_with_a_picture(pair: Pair, capsys: pytest.CaptureFixture[str]) -> None:
    settings = [Setting(0.0, 0.0), Setting(TARGET, 0.001)]
    grid = Grid(parts=[30, 60], shard_paths=[1, 2], mixed=(2, 3), settings=settings, runs=2)

    rows = [*measured(grid, lambda: nullcontext(pair))]

    sizes = [
        Work(1, 3, 3, 1, is_first=True),
        Work(1, 3, 3, 1, is_first=False),
        Work(2, 6, 3, 1, is_first=True),
        Work(2, 6, 3, 1, is_first=False),
        Work(1, 30, 30, 10, is_first=True),
        Work(1, 60, 60, 20, is_first=True),
        Work(2, 18, 9, 3, is_first=True),
    ]
    assert [(row.setting, row.work) for row in rows] == [*product(settings, sizes)]
    for row in rows:
        assert 0 < row.seconds.lowest <= row.seconds.median <= row.seconds.highest
        assert row.peak_rss_mb > 0
        assert row.is_fitted == (row.work != sizes[-1])
    shown_rows = growth_picture(rows, {0.0: FULL_SPEED, TARGET: WITH_TARGET})
    for text in ("one shard path, full speed: seconds by parts", "daily run, latency_target 5 ms: seconds"):
        assert text in shown_rows
    # Of each setting two sizes of one shard path, and two daily runs.
    assert shown_rows.count("<circle") == 8
    print_check(rows, {0.0: FULL_SPEED, TARGET: WITH_TARGET})
    assert "of 7 times predicted within 25%" in capsys.readouterr().out


@pytest.mark.parametrize("content", [False, True])
def test_an_audit_is_measured(pair: Pair, content: bool) -> None:
    table = pair.build(f"audit_{content}", 20)
    pair.measure(table)

    measured = pair.measure_audit(table, content=content)

    assert measured.parts == 60
    assert measured.seconds > 0
    assert measured.requests > 10
    assert 0 < measured.idle_rss_mb < measured.peak_rss_mb


def test_an_audit_that_finds_something_is_no_figure(pair: Pair) -> None:
    table = pair.build("drifted", 2)
    pair.hot_client.create(table.state_path(table.options.partitions[0]), b"COLD")
    with pytest.raises(subprocess.CalledProcessError):
        pair.measure_audit(table, content=False)


def test_a_classification_is_measured_from_both_sources(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_SUBMIT_OPTS", SMALL_SPARK)
    tree = GeneratedTree(shard_paths=2, parts=400, replicas=2, partitions=50)
    with snapshot_of(tree) as scene, running_server(scene) as running:
        for source in (SNAPSHOT, LIVE):
            reading = running.read(source)
            assert (reading.parts, reading.znodes) == (400, 400)
            assert reading.seconds > 0
            assert 0 < reading.idle_rss_mb < reading.peak_rss_mb
        censuses = [running.census(source) for source in (SNAPSHOT, LIVE)]
        runs = [running.classify(source, 2) for source in (SNAPSHOT, LIVE)]
    assert [(each.source, each.cores) for each in runs] == [(SNAPSHOT, 2), (LIVE, 2)]
    assert all(each.seconds > 0 for each in runs)
    require_one_plan(runs)
    assert censuses[0].znodes > 400
    # A server keeps its own configuration in one more.
    assert censuses[1].znodes - censuses[0].znodes in (0, 1)
    assert all(each.seconds > 0 for each in censuses)


def test_classifications_that_differ_in_time_only_are_one_figure(capsys: pytest.CaptureFixture[str]) -> None:
    taken = [(LIVE, "", 3.0), (SNAPSHOT, "used", 9.0), (LIVE, "", 2.0), (LIVE, "", 7.0)]
    print_classifications(
        Classification(source, 2, 1_000, archive, seconds, "a") for source, archive, seconds in taken
    )
    lines = capsys.readouterr().out.splitlines()[2:]
    assert [" ".join(line.split()) for line in lines] == [
        "zookeeper 1,000 parts local[2] 3.0 (2.0 to 7.0) s",
        "zookeeper_snapshot 1,000 parts local[2] 9.0 (9.0 to 9.0) s an archive of classes was used",
        "Those of the same parts wrote the same plan.",
    ]


def test_different_plans_of_one_tree_are_refused() -> None:
    runs = [Classification(each, 1, 10, "", 1.0, digest) for each, digest in ((SNAPSHOT, "a"), (LIVE, "b"))]
    with pytest.raises(RuntimeError, match="the plans of one tree differ"):
        require_one_plan(runs)


def test_the_effect_of_a_move_is_measured(capsys: pytest.CaptureFixture[str]) -> None:
    with running_pair(cold_members=1) as pair:
        tables = tables_for(pair, 160, partitions=20)
        effect = measure(pair, tables, pace=50, seconds=0.5)

    assert len(tables) == 2
    # Those of the first table warm the servers up.
    assert effect.parts == 18 * len(REPLICAS)
    # Each partition that is cold has a State, and each shard path what runs remember.
    assert 0 < effect.before.znodes - effect.after.znodes < 2 * effect.parts
    assert effect.before.heap_mb > 0
    assert effect.after.snapshot_mb < effect.before.snapshot_mb
    for latency in (*effect.unloaded, effect.moving):
        assert 0 < latency.median <= latency.p99 <= latency.worst
    assert picture([effect]).count("<rect") == 3 + 4 * 2 + 3 * 3
    worse = replace(effect, moving=replace(effect.moving, worst=9_000.0))
    print_effects([effect, worse, worse])
    assert f"9,000 ({shown(effect.moving.worst)} to 9,000)" in capsys.readouterr().out


@pytest.mark.usefixtures("modern_engine")
def test_the_cost_of_modern_servers_is_measured(
    hot: Ensemble, tmp_path: Path, base: str, capsys: pytest.CaptureFixture[str]
) -> None:
    cost = bench_modern.measure(hot, tmp_path / base[1:], rest_seconds=0.1)
    assert min(cost.start_seconds, cost.start_cpu_seconds, cost.again_seconds) > 0
    assert cost.own_mb > 1
    assert cost.shared_mb > 1
    bench_modern.report([cost])
    assert len(capsys.readouterr().out.splitlines()) == 6


def test_readers_of_both_tables_are_measured(
    start_modern: ModernShardMaker, hot: Ensemble, capsys: pytest.CaptureFixture[str]
) -> None:
    (server,) = start_modern(ZooKeeperSource(hot.connect_string), replicas=1).servers
    bench_reading.fill(server, 10_000)
    measured = bench_reading.measure(server, 1)
    assert set(measured) == {*bench_reading.QUERIES, bench_reading.BY_HAND[0]}
    assert all(each > 0 for pair in measured.values() for milliseconds in pair for each in milliseconds)
    bench_reading.report(measured)
    assert len(capsys.readouterr().out.splitlines()) == 1 + len(measured)
    server.execute(f"ALTER TABLE {bench_reading.ONE} DELETE WHERE day = '2024-03-01'", mutations_sync=1)
    with pytest.raises(RuntimeError, match="differ"):
        bench_reading.measure(server, 1)


def test_moves_between_twins_are_measured(
    start_modern: ModernShardMaker, hot: Ensemble, cold: Ensemble, capsys: pytest.CaptureFixture[str]
) -> None:
    sources = [ZooKeeperSource(each.connect_string) for each in (hot, cold)]
    shard = start_modern(sources[0], {"cold": sources[1]})
    # So many that what a move leaves in hot, such as the ledger, weighs less.
    size = bench_twin.Size(partitions=12, parts=2, rows=4)

    measured = bench_twin.measure_on((hot, cold), shard, size, {"checksums": True}, runs=2)

    for ways in (measured.there, measured.back):
        assert len(ways) == 2
        assert all(way.seconds > 0 and len(way.twice) == 12 and min(way.twice) > 0 for way in ways)
    assert measured.before.znodes > measured.after.znodes > 0
    bench_twin.report(measured)
    told = capsys.readouterr().out
    assert f"{measured.after.znodes:,}" in told
    assert f"{max(seconds for way in measured.there for seconds in way.twice):.3f} s (worst)" in told


def test_a_census_of_keeper_is_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert bench_keeper.write(tmp_path, 2_000) > 10_000
    measured = bench_keeper.measure(tmp_path, 1)
    assert set(measured) == {*bench_keeper.KINDS}
    (keeper,) = measured["Keeper"]
    assert keeper.znodes > 2_000
    assert keeper.peak_rss_mb > keeper.idle_rss_mb > 0
    bench_keeper.report(measured)
    assert f"Keeper: {keeper.znodes:,} znodes" in capsys.readouterr().out

    bench_keeper.write(tmp_path / "zookeeper" / "more", 4_000)
    (tmp_path / "snapshot_2000.bin.zstd").unlink()
    (tmp_path / "zookeeper" / "more" / "snapshot_2000.bin.zstd").rename(tmp_path / "snapshot_2000.bin.zstd")
    with pytest.raises(RuntimeError, match="the censuses count"):
        bench_keeper.measure(tmp_path, 1)


def test_the_first_look_is_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    measured = bench_start.measure(tmp_path, 60, 1)
    assert {kind: len(seconds) for kind, seconds in measured.items()} == dict.fromkeys(bench_start.KINDS, 1)
    bench_start.report(measured)
    assert "times what Ansible and Spark take alone" in capsys.readouterr().out


def test_moves_of_whole_tables_are_measured(
    start_modern: ModernShardMaker, hot: Ensemble, cold: Ensemble, capsys: pytest.CaptureFixture[str]
) -> None:
    sources = [ZooKeeperSource(each.connect_string) for each in (hot, cold)]
    shard = start_modern(sources[0], {"cold": sources[1]})
    size = bench_root.Size(tables=2, step=2, parts=2, rows=4)

    measured = bench_root.measure_on(hot, shard, size, runs=1)

    for (way,) in (measured.there, measured.back):
        assert [partitions for partitions, _seconds in way.tables] == [2, 4]
        assert way.estimated > 0
        assert sum(seconds for _partitions, seconds in way.tables) < way.seconds
    assert measured.again[0] < measured.there[0].seconds
    assert measured.znodes[0] > measured.znodes[1] > 0
    bench_root.report(measured)
    assert f"{measured.znodes[0]:,} before" in capsys.readouterr().out
