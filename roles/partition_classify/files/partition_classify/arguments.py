# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Command line of the job."""

from __future__ import annotations

import argparse
import sys
from datetime import datetime, timezone
from math import inf
from pathlib import Path
from typing import NoReturn

from olap_partmove._partmove.text import parse_iso_time

from .policy.decisions import Separation
from .progress import log_failure
from .sources.choice import SOURCES
from .sources.live import DEFAULT_LATENCY_TARGET, DEFAULT_SESSIONS, FORMAT as LIVE
from .sources.snapshot import FORMAT as SNAPSHOT


class _Parser(argparse.ArgumentParser):
    """Reports errors in one line, in the format of the job."""

    def error(self, message: str) -> NoReturn:
        """Log the message and exit with status 2."""
        log_failure(f"{message}.")
        sys.exit(2)


def parser() -> argparse.ArgumentParser:
    """Return the parser of the complete command line, one argument group for each concern."""
    made = _Parser(prog="classify.py", description="Decide which partitions are cold, and write a plan file.")
    _add_decision(made.add_argument_group("what to decide"))
    _add_source(made.add_argument_group("what to read"))
    _add_output(made.add_argument_group("what to write"))
    return made


def _add_decision(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--policy", type=Path, required=True, metavar="FILE", help="the policy, YAML")
    group.add_argument(
        "--compare-policy",
        type=Path,
        metavar="FILE",
        help="second policy: report its different decisions; does not affect the plan",
    )
    group.add_argument(
        "--as-of",
        type=_moment,
        metavar="TIME",
        help="moment to decide for, ISO 8601 with a time zone (default: now, or the last change in files)",
    )
    group.add_argument(
        "--future",
        action="store_true",
        help="allow a moment in the future, or after the last change in the files",
    )
    group.add_argument(
        "--separation",
        choices=[each.value for each in Separation],
        default=Separation.PATCHED.value,
        help="way to carry out the plan: patched servers, or cold twins in an auxiliary ensemble, which "
        "accept partitions with several parts (%(default)s)",
    )
    group.add_argument(
        "--strict", action="store_true", help="fail for rules or pins of the policy without effect"
    )


def now_ms() -> int:
    """Return the current time in milliseconds since 1970."""
    return int(datetime.now(timezone.utc).timestamp() * 1000)


def _add_source(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--source",
        choices=SOURCES,
        default=LIVE,
        help="running ensembles, or copies of their files (%(default)s)",
    )
    group.add_argument(
        "--connections",
        type=Path,
        required=True,
        metavar="FILE",
        help='JSON: {"hot": {"hosts": [...], ...}, "cold": {...}}, or {"hot": {"data_dir": ...}, ...} for '
        f"{SNAPSHOT}; cold and clickhouse are optional",
    )
    group.add_argument("--root", required=True, metavar="PATH", help="common parent path of the shard paths")
    group.add_argument(
        "--older-snapshot",
        action="store_true",
        help="skip damaged snapshots and read the newest undamaged one",
    )
    group.add_argument(
        "--sessions",
        type=_count,
        default=DEFAULT_SESSIONS,
        metavar="N",
        help="maximum number of concurrent sessions with each ensemble (%(default)s)",
    )
    group.add_argument(
        "--znodes-per-second",
        type=_rate,
        default=0.0,
        metavar="N",
        help="maximum number of znodes read per second and ensemble; 0 (default) for no limit",
    )
    group.add_argument(
        "--latency-target",
        type=_rate,
        default=DEFAULT_LATENCY_TARGET,
        metavar="SECONDS",
        help="what each task may add to the latency of a running ensemble; 0 for full speed (%(default)s)",
    )


def _add_output(group: argparse._ArgumentGroup) -> None:
    place = group.add_mutually_exclusive_group(required=True)
    place.add_argument("--plan", type=Path, metavar="FILE", help="the plan file to write")
    place.add_argument(
        "--hand-over",
        metavar="URL",
        help="shared folder that receives the plan for fetch.py, if this driver runs in a cluster",
    )
    group.add_argument("--parquet", metavar="FOLDER", help="Parquet data set to add the rows to")
    group.add_argument(
        "--report",
        type=Path,
        metavar="FOLDER",
        help="folder for the report of the plan: report.html, report.json, merges.sql",
    )
    group.add_argument(
        "--report-due-hours",
        type=_rate,
        default=0.0,
        metavar="HOURS",
        help="age at which the page of the report calls itself overdue; 0 for never (default)",
    )
    group.add_argument(
        "--previous",
        type=Path,
        metavar="FILE",
        help="plan to compare with (default: the replaced plan)",
    )


def _count(text: str) -> int:
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above 0")
    return number


def _rate(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number < inf:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number, 0 or more")
    return number


def _moment(text: str) -> int:
    try:
        moment = parse_iso_time(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is not ISO 8601, such as 2026-11-20T22:15:00Z") from error
    if moment.tzinfo is None:
        raise argparse.ArgumentTypeError(f"{text!r} has no time zone; write 2026-11-20T22:15:00Z for UTC")
    return int(moment.timestamp() * 1000)
