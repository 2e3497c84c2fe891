# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The servers and tables of the demo, to try the commands of docs/quickstart.md on until Ctrl-C.

It writes the variables that the playbooks need for these servers to a file. Everything runs on loopback
addresses of this machine; what is left at the end is that folder.
"""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from types import FrameType
from typing import Any

import yaml

from clickhouse.patched_server.compile import PatchedServerError
from demo.patched import add_recorded, stage_on
from demo.runs import Runs, connections_of
from demo.screen import Screen, Surprise
from demo.stage import Ensembles, Stage, running_ensembles
from demo.tables import COLD_AFTER_SECONDS, POLICY, ROOT, TABLES
from support.servers.process import ServerError

READY = "Ready. Ctrl-C ends the servers."
"""The line that tells that commands can be given now."""


def main() -> int:
    """Hold the servers; return the exit status."""
    parser = argparse.ArgumentParser(prog="sandbox.py", description="Start servers to try commands on.")
    add_recorded(parser)
    parser.add_argument(
        "--folder",
        type=Path,
        default=Path("build/sandbox"),
        help="folder for the variables and what the playbooks write (%(default)s)",
    )
    arguments = parser.parse_args()
    # Also where a shell in the background has SIGINT ignored.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _interrupt)
    try:
        _hold(Screen(), arguments.folder.resolve(), recorded=arguments.recorded)
    except (Surprise, ServerError, PatchedServerError) as error:
        print(f"\nThe sandbox failed: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nThe servers are stopped.")
    return 0


def variables_for(ensembles: Ensembles, stage: Stage, as_of: datetime, folder: Path) -> Mapping[str, Any]:
    """Return what separate, reheat, audit and census need for the servers."""
    both = connections_of(ensembles)
    of_role: dict[str, Mapping[str, Any]] = {
        "partition_classify": {
            **both,
            "root": ROOT,
            "policy": yaml.safe_load(POLICY),
            "as_of": as_of.isoformat(),
            "plan_dest": str(folder / "plan.jsonl"),
            "report_dest": str(folder / "report"),
            "spark_master": "local[2]",
            "spark_conf": {"spark.driver.memory": "512m"},
        },
        "part_move": {**both, **stage.readiness, "min_age": f"{COLD_AFTER_SECONDS}s"},
        "partmove_audit": {**both, "clickhouse": stage.readiness.get("clickhouse"), "root": ROOT},
        "partmove_census": {"hot": both["hot"]},
    }
    return {f"{role}_{name}": value for role, given in of_role.items() for name, value in given.items()}


def _hold(screen: Screen, folder: Path, *, recorded: bool) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    variables = folder / "vars.yml"
    screen.title("olap.partmove: servers to try it on")
    with (
        tempfile.TemporaryDirectory(prefix="partmove-sandbox-") as name,
        running_ensembles(Path(name)) as ensembles,
        stage_on(Path(name), ensembles, recorded=recorded) as stage,
    ):
        screen.table(("", "version", "where"), [*ensembles.servers, *stage.servers])
        screen.warn(stage.warning)
        as_of = stage.fill()
        if stage.servers:
            # What a rollout does with a server that it has changed.
            Runs(ensembles, Path(name), folder).enter("ledger", stage.servers)
        screen.table(
            ("table", "partitions", ""), [(each.full_name, len(each.outcome), each.story) for each in TABLES]
        )
        given = variables_for(ensembles, stage, as_of, folder)
        variables.write_text(f"---\n{yaml.safe_dump(dict(given), sort_keys=False)}")
        screen.say(f"The variables for these servers are in {variables}.")
        print(READY, flush=True)
        signal.pause()


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
