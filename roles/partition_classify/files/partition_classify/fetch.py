# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Fetches the plan handed over by a driver in a cluster, and compares it with the present plan."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from olap_partmove._partmove.errors import PartMoveError
from olap_partmove._partmove.plan.file import read_header
from olap_partmove._partmove.plan.staging import staging_folder

from .hand_over import PLAN, HandOver
from .progress import log_failure
from .report.files import report_place
from .summary import is_change


def main(argv: Sequence[str]) -> int:
    """Fetch the plan. Exit status: 0, or 1 after one sentence on stderr.

    The sentence is the driver's error if the driver failed.
    """
    parser = argparse.ArgumentParser(prog="fetch.py", description="Fetch the plan of a driver in a cluster.")
    parser.add_argument("--hand-over", required=True, metavar="URL", help="shared folder of the driver")
    parser.add_argument("--plan", type=Path, required=True, metavar="FILE", help="the plan file to write")
    parser.add_argument("--previous", type=Path, required=True, metavar="FILE", help="plan to compare with")
    parser.add_argument("--report", type=Path, metavar="FOLDER", help="folder for the report")
    parser.add_argument("--submit-message", default="", metavar="TEXT", help="last message of spark-submit")
    try:
        summary = fetch(parser.parse_args(argv))
    except PartMoveError as error:
        log_failure(str(error))
        return 1
    except OSError as error:
        log_failure(f"{error.filename}: {error.strerror}.")
        return 1
    sys.stdout.write(json.dumps(summary) + "\n")
    return 0


def fetch(arguments: argparse.Namespace) -> dict[str, Any]:
    """Fetch the plan; return the summary, equal to the job's summary on one machine."""
    hand_over = HandOver(arguments.hand_over)
    try:
        before = read_header(arguments.previous) if arguments.previous.exists() else None
        # Staged beside the plan, so that a rename replaces the plan.
        with staging_folder(arguments.plan) as folder:
            summary = hand_over.take_summary(folder, arguments.submit_message)
            hand_over.take_plan(folder / PLAN)
            header = read_header(folder / PLAN)
            (folder / PLAN).replace(arguments.plan)
        if arguments.report:
            arguments.report.mkdir(parents=True, exist_ok=True)
            hand_over.take_report(arguments.report)
    finally:
        hand_over.remove()
    places = {"plan": str(arguments.plan), "report": report_place(arguments.report)}
    return summary | places | {"changed": is_change(before, header)}
