# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The job: arguments in, plan file out, a summary on stdout."""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession, functions as F  # noqa: N812 - what everyone calls it

from olap_partmove._partmove.errors import PartMoveError, PlanError
from olap_partmove._partmove.plan.file import PlanHeader, read_header
from olap_partmove._partmove.plan.staging import check_writable, unwritable

from .arguments import now_ms, parser
from .comparison import comparison_of, comparison_section, persisted_rows
from .hand_over import PLAN, HandOver
from .history import EarlierRun, history_of
from .plan_output import check_local_parquet, check_parquet, staged_plan_file, write_parquet
from .policy.decisions import UNREAD, Separation
from .policy.file import Policy, read_policy
from .policy.rule_use import RuleUse, misfits_of, refuse_misfits
from .policy.transforms import known_partitions
from .preflight import check_host
from .progress import StageProgress, log_failure, log_line
from .report.files import prepare_report, report_place, write_report
from .report.merges import all_merges
from .report.sums import figures_of
from .session import given_settings, make_session, stop_session, tasks_at_once
from .sources.choice import InventorySource, files_of, servers_of, source_of
from .sources.distributed_read import DistributedRead
from .sources.part_groups import GROUP_SCHEMA
from .sources.signals import read_signal
from .spark_errors import lost_java_message, message_of
from .summary import PlanFindings, findings_of, rules_listed, summary_of
from .workers import check_executors, check_python

# A moment that another host calls now is no moment to come.
_CLOCKS_DIFFER_MS = 60_000
# How much of what may not be read is named.
_UNREAD_NAMED = 3


def main(argv: Sequence[str]) -> int:
    """Run the job; the exit status is 0, or 1 after one sentence on stderr that says what is wrong."""
    arguments = parser().parse_args(argv)
    try:
        summary = _classify_for_another_host(arguments) if arguments.hand_over else _classify(arguments)
    except PartMoveError as error:
        log_failure(str(error))
        return 1
    sys.stdout.write(json.dumps(summary) + "\n")
    return 0


def _classify_for_another_host(arguments: argparse.Namespace) -> dict[str, Any]:
    """Classify, and hand over a plan or an error: nobody sees the output of a driver in a cluster."""
    with tempfile.TemporaryDirectory(prefix="partition_classify.") as folder:
        arguments.plan = Path(folder, PLAN)
        arguments.report = Path(folder) if arguments.report else None
        hand_over = HandOver(arguments.hand_over)
        try:
            summary = _classify(arguments)
            hand_over.put_plan(arguments.plan)
            if arguments.report:
                hand_over.put_report(arguments.report)
        except PartMoveError as error:
            hand_over.put_error(str(error))
            raise
        hand_over.put_summary(summary)
        return summary


def _classify(arguments: argparse.Namespace) -> dict[str, Any]:
    """Classify; whatever goes wrong is a PartMoveError."""
    try:
        return classify(arguments)
    except (ConnectionError, EOFError) as error:
        raise PartMoveError(lost_java_message()) from error
    except OSError as error:
        raise PartMoveError(
            f"{error.filename}: {error.strerror}" if error.filename else str(error)
        ) from error
    except (PySparkException, Py4JError) as error:
        raise PartMoveError(message_of(error)) from error


def classify(arguments: argparse.Namespace) -> dict[str, Any]:
    """Read, decide, write; returns the summary."""
    policy = read_policy(arguments.policy)
    other = read_policy(arguments.compare_policy) if arguments.compare_policy else None
    _check_moment(arguments)
    source = source_of(arguments)
    servers = servers_of(arguments)
    _check_places(arguments)
    check_python()
    settings = given_settings()
    if not arguments.hand_over:
        # A driver in a cluster has the memory and the disks that the cluster gives it.
        check_host(arguments.plan, files_of(arguments), settings)
    replaced = _header_of(arguments.plan)
    before = _header_of(arguments.previous) if arguments.previous else replaced
    inventory = DistributedRead(source.reader(tasks_at_once(settings)), GROUP_SCHEMA)
    spark = make_session()
    try:
        _check_cluster(spark, arguments.parquet)
        windows = policy.read_windows | (other.read_windows if other else set())
        # Of a moment to come nothing is in a log yet.
        until = min(arguments.as_of, now_ms())
        signal = None if servers is None else read_signal(spark, servers, windows, until)
        known = known_partitions(inventory.rows(spark), arguments.as_of, windows, signal)
        rows = persisted_rows(known, policy, other, Separation(arguments.separation))
        with StageProgress(spark):
            # This is what reads the ensembles, and asks the servers; all that follows has the rows.
            findings = findings_of(rows, policy)
        _report_misfits(findings.rules, strict=arguments.strict)
        _log_unread(findings)
        judged = rows.where(F.col("action") != UNREAD)
        comparison = _compare_policies(judged, known, other) if other else None
        header, history = _write(judged, policy, source, arguments, findings, comparison)
    finally:
        stop_session(spark)
    log_line(f"wrote {header.rows} rows to {arguments.plan}")
    report = report_place(arguments.report)
    summary = summary_of(arguments.plan, header, before, findings, report)
    told = None if history is None else [run._asdict() for run in history]
    return summary | {"comparison": comparison, "history": told}


def _compare_policies(rows: DataFrame, known: DataFrame, other: Policy) -> dict[str, Any]:
    """Tell what another policy would decide otherwise, and give it for the summary."""
    section = comparison_section(comparison_of(rows, known, other))
    for line in section["text"]:
        log_line(line)
    return section


def _log_unread(findings: PlanFindings) -> None:
    """Say how much there is of which something may not be read, and name the first."""
    unread = findings.unread_section()
    count, first = unread["count"], unread["first"][:_UNREAD_NAMED]
    if count:
        names = ", ".join(f"{each['shard_path']} {each['partition']}".rstrip() for each in first)
        more = f" and {count - len(first):,} more" if count > len(first) else ""
        log_line(f"not complete: something may not be read of {names}{more}, and nothing is decided of it")


def _read_history(spark: SparkSession, parquet: str) -> list[EarlierRun] | None:
    """What runs have found so far, this one too; None where rows of earlier ones cannot be read."""
    try:
        return history_of(spark, parquet)
    except PartMoveError as error:
        # The plan is what it is without them.
        log_line(str(error))
        return None


def _write(
    rows: DataFrame,
    policy: Policy,
    source: InventorySource,
    arguments: argparse.Namespace,
    findings: PlanFindings,
    comparison: dict[str, Any] | None,
) -> tuple[PlanHeader, list[EarlierRun] | None]:
    """The plan last: a run that fails before is found to be unfinished by the next one.

    ``findings`` and ``comparison`` are for the report. Returns its header, and what runs have found so far,
    where the rows of all are kept.
    """
    history: list[EarlierRun] | None = None
    staged = staged_plan_file(
        rows,
        arguments.plan,
        findings.planned,
        policy_digest=policy.digest,
        source=source.description,
        origin=source.origin,
        as_of=arguments.as_of,
    )
    with staged as header:
        if arguments.parquet:
            write_parquet(rows, arguments.parquet, arguments.as_of)
            history = _read_history(rows.sparkSession, arguments.parquet)
        if arguments.report:
            found = {run.as_of: run.znodes_hot for run in history or ()}
            figures = figures_of(rows, header, source.size_of_hot(), found)
            figures = replace(
                figures,
                comparison=comparison,
                rules=rules_listed(findings.rules),
                unread=findings.unread_section(),
            )
            write_report(figures, all_merges(rows), arguments.report)
            log_line(f"wrote the report to {arguments.report}")
    return header, history


def _report_misfits(rules: Sequence[RuleUse], *, strict: bool) -> None:
    """Tell of each rule that decides nothing; raise PolicyError instead if that is asked for."""
    found = misfits_of(rules)
    if strict:
        refuse_misfits(found)
    for sentence in found:
        log_line(f"the policy does not fit the tables: {sentence}")


def _check_moment(arguments: argparse.Namespace) -> None:
    """Refuse a moment that is still to come: what changes until then would be taken for cold."""
    if arguments.as_of > now_ms() + _CLOCKS_DIFFER_MS and not arguments.future:
        raise PartMoveError(
            "The moment to decide for is still to come: what changes until then would count as unchanged",
            remedy="Leave it out, or allow it with --future, in the role with partition_classify_future",
        )


def _check_places(arguments: argparse.Namespace) -> None:
    """Refuse, before Spark starts, places on this host that nothing can be written to."""
    plan: Path = arguments.plan
    if not os.access(plan.parent, os.W_OK | os.X_OK):
        raise PlanError(
            f"{plan}: the plan cannot be written, this user cannot write to {plan.parent}",
            remedy="Make the folder, or give another path",
        )
    try:
        check_writable(plan.parent)
    except OSError as error:
        raise unwritable(plan, error) from error
    if arguments.parquet:
        check_local_parquet(arguments.parquet)
    if arguments.report:
        prepare_report(arguments.report)


def _check_cluster(spark: SparkSession, parquet: str | None) -> None:
    """Refuse, before any row is read, executors and storage that the job would fail with at last."""
    if not str(spark.sparkContext.master).startswith("local"):
        check_executors(spark)
    if parquet:
        check_parquet(spark, parquet)


def _header_of(path: Path) -> PlanHeader | None:
    """The header of the plan that is there already; a file that is no plan is not written over."""
    return read_header(path) if path.exists() else None
