# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The job: arguments in, plan file out, summary on stdout."""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

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
from .moment import Moment, check_moment, moment_of
from .plan_output import check_local_parquet, check_parquet, staged_plan_file, write_parquet
from .policy.decisions import UNREAD, Separation
from .policy.file import Policy, read_policy
from .policy.rule_use import RuleUse, misfits_of, refuse_misfits
from .policy.transforms import known_partitions
from .preflight import check_host, check_shared_copies
from .progress import StageProgress, log_failure, log_line
from .report.files import prepare_report, report_place, write_report
from .report.merges import all_merges
from .report.sums import figures_of
from .session import given_settings, make_session, prepare_for_few_rows, stop_session, tasks_at_once
from .sources.choice import InventorySource, files_of, servers_of, source_of
from .sources.distributed_read import DistributedRead
from .sources.part_groups import GROUP_SCHEMA
from .sources.signals import read_signal
from .spark_errors import lost_java_message, message_of
from .summary import PlanFindings, findings_of, rules_listed, summary_of
from .workers import check_executors, check_python

# Number of unreadable items named in the log.
_UNREAD_NAMED = 3


def main(argv: Sequence[str]) -> int:
    """Run the job. Exit status: 0; or 1 after one sentence on stderr with the error."""
    arguments = parser().parse_args(argv)
    try:
        summary = _classify_for_another_host(arguments) if arguments.hand_over else _classify(arguments)
    except PartMoveError as error:
        log_failure(str(error))
        return 1
    sys.stdout.write(json.dumps(summary) + "\n")
    return 0


def _classify_for_another_host(arguments: argparse.Namespace) -> dict[str, Any]:
    """Classify and hand over the plan or the error: output of a driver in a cluster is not visible."""
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
    """Classify; convert all expected errors to PartMoveError."""
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
    """Read, decide, write; return the summary."""
    policy = read_policy(arguments.policy)
    other = read_policy(arguments.compare_policy) if arguments.compare_policy else None
    check_moment(arguments)
    source = source_of(arguments)
    servers_of(arguments)
    _check_places(arguments)
    check_python()
    settings = given_settings()
    check_shared_copies(files_of(arguments), settings)
    if not arguments.hand_over:
        # The cluster provides memory and disks of a driver in the cluster.
        check_host(arguments.plan, files_of(arguments), settings)
    replaced = _header_of(arguments.plan)
    before = _header_of(arguments.previous) if arguments.previous else replaced
    with source.opened() as opened:
        outcome = _decide(arguments, opened, policy, other)
    log_line(f"wrote {outcome.header.rows} rows to {arguments.plan}")
    report = report_place(arguments.report)
    summary = summary_of(arguments.plan, outcome.header, before, outcome.findings, report)
    runs = None if outcome.history is None else [run._asdict() for run in outcome.history]
    return summary | {"comparison": outcome.comparison, "history": runs}


class _Outcome(NamedTuple):
    """What a run found and wrote.

    comparison: None without another policy. history: the results of all runs, None without a data set.
    """

    header: PlanHeader
    findings: PlanFindings
    comparison: dict[str, Any] | None
    history: list[EarlierRun] | None


def _decide(
    arguments: argparse.Namespace, source: InventorySource, policy: Policy, other: Policy | None
) -> _Outcome:
    """Read the source in a session, decide, and write the outputs."""
    tasks = tasks_at_once(given_settings())
    # Before the inventory: the log of a running server grows, and its changes would be missing in the rows.
    moment = moment_of(arguments, source.last_change())
    inventory = DistributedRead(source.reader(tasks), GROUP_SCHEMA, here=tasks > 0)
    servers = servers_of(arguments)
    spark = make_session()
    try:
        _check_cluster(spark, arguments.parquet)
        windows = policy.read_windows | (other.read_windows if other else set())
        # Query logs have no entries of the future.
        until = min(moment.as_of, now_ms())
        signal = None if servers is None else read_signal(spark, servers, windows, until)
        if inventory.is_small:
            prepare_for_few_rows(spark)
        known = known_partitions(inventory.rows(spark), moment.as_of, windows, signal)
        rows = persisted_rows(known, policy, other, Separation(arguments.separation))
        with StageProgress(spark):
            # First action on the rows: reads the ensembles and queries the servers. Later steps reuse them.
            findings = findings_of(rows, policy)
        _report_misfits(findings.rules, strict=arguments.strict)
        _log_unread(findings)
        judged = rows.where(F.col("action") != UNREAD)
        comparison = _compare_policies(judged, known, other) if other else None
        header, history = _write(judged, policy, source, arguments, findings, comparison, moment=moment)
        return _Outcome(header, findings, comparison, history)
    finally:
        stop_session(spark)


def _compare_policies(rows: DataFrame, known: DataFrame, other: Policy) -> dict[str, Any]:
    """Log and return the differing decisions of another policy, for the summary."""
    section = comparison_section(comparison_of(rows, known, other))
    for line in section["text"]:
        log_line(line)
    return section


def _log_unread(findings: PlanFindings) -> None:
    """Log the number of unreadable items, and name the first of them."""
    unread = findings.unread_section()
    count, first = unread["count"], unread["first"][:_UNREAD_NAMED]
    if count:
        names = ", ".join(f"{each['shard_path']} {each['partition']}".rstrip() for each in first)
        more = f" and {count - len(first):,} more" if count > len(first) else ""
        log_line(f"not complete: no decision for {names}{more}, because not all of their znodes may be read")


def _read_history(spark: SparkSession, parquet: str) -> list[EarlierRun] | None:
    """Return the results of all runs, this one included; None if earlier rows are unreadable."""
    try:
        return history_of(spark, parquet)
    except PartMoveError as error:
        # The plan does not depend on earlier runs.
        log_line(str(error))
        return None


def _write(
    rows: DataFrame,
    policy: Policy,
    source: InventorySource,
    arguments: argparse.Namespace,
    findings: PlanFindings,
    comparison: dict[str, Any] | None,
    *,
    moment: Moment,
) -> tuple[PlanHeader, list[EarlierRun] | None]:
    """Write the outputs, the plan last: a run that fails before leaves the previous plan.

    findings, comparison: contents of the report. Returns the plan's header, and the results of all runs if
    rows are kept as Parquet.
    """
    history: list[EarlierRun] | None = None
    staged = staged_plan_file(
        rows,
        arguments.plan,
        findings.planned,
        policy_digest=policy.digest,
        source=moment.described(source.description),
        origin=source.origin,
        as_of=moment.as_of,
    )
    with staged as header:
        if arguments.parquet:
            write_parquet(rows, arguments.parquet, moment.as_of)
            history = _read_history(rows.sparkSession, arguments.parquet)
        if arguments.report:
            found_by_runs = {run.as_of: run.znodes_hot for run in history or ()}
            figures = figures_of(rows, header, source.size_of_hot(), found_by_runs)
            figures = replace(
                figures,
                comparison=comparison,
                rules=rules_listed(findings.rules),
                unread=findings.unread_section(),
            )
            write_report(figures, all_merges(rows), arguments.report, arguments.report_due_hours)
            log_line(f"wrote the report to {arguments.report}")
    return header, history


def _report_misfits(rules: Sequence[RuleUse], *, strict: bool) -> None:
    """Log each policy misfit; with ``strict``, raise PolicyError instead."""
    misfits = misfits_of(rules)
    if strict:
        refuse_misfits(misfits)
    for sentence in misfits:
        log_line(f"the policy does not fit the tables: {sentence}")


def _check_places(arguments: argparse.Namespace) -> None:
    """Reject unwritable output paths on this host before Spark starts."""
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
    """Reject unsuitable executors and storage before reading any row."""
    if not str(spark.sparkContext.master).startswith("local"):
        check_executors(spark)
    if parquet:
        check_parquet(spark, parquet)


def _header_of(path: Path) -> PlanHeader | None:
    """Return the header of the existing plan. Other files raise an error and are not overwritten."""
    return read_header(path) if path.exists() else None
