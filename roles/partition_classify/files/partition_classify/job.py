# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The job: arguments in, plan file out, a summary on stdout."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession, functions as F  # noqa: N812 - what everyone calls it

from olap_partmove.partmove.errors import EnsembleError, PartMoveError, PlanError
from olap_partmove.partmove.plan import COLD, HOT, PlanHeader, read_header
from olap_partmove.zookeeper.settings import options_of

from .live_source import DEFAULT_TASKS, FORMAT, ZooKeeperSource
from .plan_output import write_parquet, write_plan_file
from .policy import read_policy
from .progress import Progress, tell
from .spark_errors import sentence_of
from .transforms import MOVE, REHEAT, plan_rows

ENSEMBLES = ("hot", "cold")
_QUIET = {"spark.ui.showConsoleProgress": "false", "spark.log.level": "ERROR"}
# Spark's default of 200 is meant for a cluster: on one machine most of the time would go into starting tasks.
_SHUFFLE_PARTITIONS = "spark.sql.shuffle.partitions"


class Totals(NamedTuple):
    """What a group of plan rows adds up to."""

    partitions: int = 0
    parts: int = 0
    znodes: int = 0
    bytes: int = 0

    def __add__(self, other: tuple[Any, ...]) -> Totals:
        return Totals(*(mine + theirs for mine, theirs in zip(self, other, strict=True)))


def main(argv: Sequence[str]) -> int:
    """Run the job; the exit status is 0, or 1 after one sentence on stderr that says what is wrong."""
    arguments = _parser().parse_args(argv)
    try:
        summary = classify(arguments)
    except PartMoveError as error:
        return _refuse(str(error))
    except OSError as error:
        return _refuse(f"{error.filename}: {error.strerror}." if error.filename else str(error))
    except PySparkException as error:
        return _refuse(sentence_of(error))
    sys.stdout.write(json.dumps(summary) + "\n")
    return 0


def classify(arguments: argparse.Namespace) -> dict[str, Any]:
    """Read, decide, write; returns the summary."""
    policy = read_policy(arguments.policy)
    connections = _connections(arguments.connections)
    as_of = arguments.as_of
    _check_folder(arguments.plan)
    replaced = _header_of(arguments.plan)
    before = _header_of(arguments.previous) if arguments.previous else replaced
    spark = _session()
    try:
        rows = plan_rows(_inventory(spark, connections, arguments), policy, as_of).persist()
        with Progress(spark):
            totals = _totals(rows)
        header = write_plan_file(
            rows,
            arguments.plan,
            policy_digest=policy.digest,
            source=_source(connections, arguments.root),
            as_of=as_of,
        )
        if arguments.parquet:
            write_parquet(rows, arguments.parquet, as_of)
    finally:
        spark.stop()
    tell(f"wrote {header.rows} rows to {arguments.plan}")
    return _summary(arguments.plan, header, totals, changed=_content(before) != _content(header))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="classify.py", description="Decide which partitions are cold, and write a plan file."
    )
    parser.add_argument("--policy", type=Path, required=True, metavar="FILE", help="the policy, YAML")
    parser.add_argument(
        "--connections",
        type=Path,
        required=True,
        metavar="FILE",
        help='JSON: {"hot": {"hosts": [...], ...}, "cold": {...}}; cold may be left out',
    )
    parser.add_argument("--root", required=True, metavar="PATH", help="where the shard paths are")
    parser.add_argument("--plan", type=Path, required=True, metavar="FILE", help="the plan file to write")
    parser.add_argument("--parquet", metavar="FOLDER", help="add the rows there too, as Parquet")
    parser.add_argument(
        "--previous",
        type=Path,
        metavar="FILE",
        help="the plan to compare with; the one written over by default",
    )
    parser.add_argument(
        "--as-of",
        type=_moment,
        default=int(datetime.now(UTC).timestamp() * 1000),
        metavar="TIME",
        help="decide for this moment, ISO 8601 with a time zone; now by default",
    )
    parser.add_argument(
        "--tasks", type=int, default=DEFAULT_TASKS, metavar="N", help="read in at most N tasks (%(default)s)"
    )
    return parser


def _moment(text: str) -> int:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is not ISO 8601, such as 2026-11-20T22:15:00Z") from error
    if moment.tzinfo is None:
        raise argparse.ArgumentTypeError(f"{text!r} has no time zone; write 2026-11-20T22:15:00Z for UTC")
    return int(moment.timestamp() * 1000)


def _connections(path: Path) -> dict[str, Mapping[str, Any]]:
    """The settings of hot and maybe of cold; checked here, so that no Spark is started for nothing."""
    try:
        connections = json.loads(path.read_bytes())
    except ValueError as error:
        raise EnsembleError(
            f"{path}: the connections are not JSON", remedy="Write hot and cold as JSON"
        ) from error
    if not isinstance(connections, dict) or "hot" not in connections or set(connections) - set(ENSEMBLES):
        raise EnsembleError(
            f"{path}: the connections are not those of hot and cold", remedy="Give hot, or hot and cold"
        )
    connections = {name: settings for name, settings in connections.items() if settings is not None}
    for name, settings in connections.items():
        options_of(name, settings)
    return connections


def _check_folder(plan: Path) -> None:
    """Now, rather than after everything was read."""
    if not os.access(plan.parent, os.W_OK | os.X_OK):
        raise PlanError(
            f"{plan}: the plan cannot be written, this user cannot write to {plan.parent}",
            remedy="Make the folder, or give another path",
        )


def _header_of(path: Path) -> PlanHeader | None:
    """The header of the plan that is there already; a file that is no plan is not written over."""
    return read_header(path) if path.exists() else None


def _session() -> SparkSession:
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("partition_classify")
    for key, value in _QUIET.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    context = spark.sparkContext
    settings = context.getConf()
    on_one_machine = settings.get("spark.master", "").startswith("local")
    if on_one_machine and not settings.contains(_SHUFFLE_PARTITIONS):
        spark.conf.set(_SHUFFLE_PARTITIONS, 2 * context.defaultParallelism)
    spark.dataSource.register(ZooKeeperSource)
    return spark


def _inventory(
    spark: SparkSession, connections: Mapping[str, Mapping[str, Any]], arguments: argparse.Namespace
) -> DataFrame:
    options = {f"{name}_secret": json.dumps(settings) for name, settings in connections.items()}
    return (
        spark.read.format(FORMAT).options(root=arguments.root, tasks=str(arguments.tasks), **options).load()
    )


def _totals(rows: DataFrame) -> dict[tuple[str, str], Totals]:
    """What the rows of each state and action add up to. This is what reads the ensembles."""
    sums = [F.sum(name) for name in ("parts", "znodes", "bytes")]
    counted = rows.groupBy("state", "action").agg(F.count("*"), *sums)
    return {(state, action): Totals(*numbers) for state, action, *numbers in counted.collect()}


def _source(connections: Mapping[str, Mapping[str, Any]], root: str) -> str:
    ensembles = [options_of(name, settings) for name, settings in connections.items()]
    where = " ".join(f"{each.name}={','.join(each.hosts)}{each.chroot}" for each in ensembles)
    return f"{FORMAT} {where} root={root}"


def _content(header: PlanHeader | None) -> tuple[str, str] | None:
    """What makes two plans the same: policy and rows, whatever moment they were made for."""
    return (header.policy_digest, header.rows_digest) if header else None


def _summary(
    plan: Path, header: PlanHeader, totals: Mapping[tuple[str, str], Totals], *, changed: bool
) -> dict[str, Any]:
    def total(*, state: str, actions: Sequence[str] | None = None) -> Totals:
        matching = [
            each
            for (its_state, action), each in totals.items()
            if its_state == state and (actions is None or action in actions)
        ]
        return sum(matching, Totals())

    return {
        "plan": str(plan),
        "changed": changed,
        "rows": header.rows,
        "cold": total(state=COLD).partitions,
        "hot": total(state=HOT).partitions,
        "to_move": total(state=COLD, actions=[MOVE])._asdict(),
        "to_reheat": total(state=HOT, actions=[REHEAT])._asdict(),
    }


def _refuse(sentence: str) -> int:
    sys.stderr.write(f"partition_classify: {sentence}\n")
    return 1
