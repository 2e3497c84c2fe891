# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Command line of the job: accepted arguments, and errors with exit status 2."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from partition_classify.arguments import parser

NEEDED = ["--policy=policy.yml", "--connections=connections.json", "--root=/clickhouse"]
PLAN = "--plan=plan.jsonl"


def parsed(*options: str) -> argparse.Namespace:
    return parser().parse_args([*NEEDED, *options])


def test_few_arguments_are_required() -> None:
    assert vars(parsed(PLAN)) == {
        "policy": Path("policy.yml"),
        "compare_policy": None,
        "as_of": None,
        "future": False,
        "strict": False,
        "separation": "patched",
        "source": "zookeeper",
        "connections": Path("connections.json"),
        "root": "/clickhouse",
        "older_snapshot": False,
        "sessions": 32,
        "znodes_per_second": 0.0,
        "latency_target": 0.005,
        "plan": Path("plan.jsonl"),
        "hand_over": None,
        "parquet": None,
        "report": None,
        "report_due_hours": 0.0,
        "previous": None,
    }


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [
        ("1970-01-01T00:00:01Z", 1000),
        ("1970-01-01T01:00:00.123+01:00", 123),
        ("2026-11-20T22:15:00+00:00", 1_795_212_900_000),
    ],
)
def test_moment_is_in_milliseconds_since_1970(text: str, milliseconds: int) -> None:
    assert parsed(PLAN, f"--as-of={text}").as_of == milliseconds


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([PLAN, "--as-of=yesterday"], "argument --as-of: 'yesterday' is not ISO 8601"),
        ([PLAN, "--as-of=2026-11-20T22:15:00"], "argument --as-of: '2026-11-20T22:15:00' has no time zone"),
        ([PLAN, "--sessions=0"], "argument --sessions: '0' is not a whole number above 0"),
        ([PLAN, "--sessions=1.5"], "argument --sessions: '1.5' is not a whole number above 0"),
        ([PLAN, "--znodes-per-second=-1"], "argument --znodes-per-second: '-1' is not a number, 0 or more"),
        ([PLAN, "--znodes-per-second=inf"], "argument --znodes-per-second: 'inf' is not a number, 0 or more"),
        ([PLAN, "--znodes-per-second=nan"], "argument --znodes-per-second: 'nan' is not a number, 0 or more"),
        ([PLAN, "--source=files"], "argument --source: invalid choice: 'files'"),
        ([PLAN, "--hand-over=hdfs:///x"], "argument --hand-over: not allowed with argument --plan"),
        ([], "one of the arguments --plan --hand-over is required"),
    ],
)
def test_invalid_value_is_refused_with_its_option(
    capsys: pytest.CaptureFixture[str], options: list[str], message: str
) -> None:
    with pytest.raises(SystemExit) as ended:
        parsed(*options)
    assert ended.value.code == 2
    assert message in capsys.readouterr().err
