# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Shows the separation of hot and cold partitions on real servers, and checks every claim it makes.

Everything runs on loopback addresses of this machine and is removed at the end; the logs stay in
build/demo. The exit status is 1 when anything is not as it should be.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from clickhouse.patched_server.compile import NoCompilerError, PatchedServerError, patched_library
from demo import recording
from demo.live import live_stage
from demo.play import Play
from demo.runs import Runs
from demo.screen import Screen, Surprise
from demo.stage import Ensembles, Stage, running_ensembles
from support.servers.clickhouse import clickhouse_program
from support.servers.process import ServerError


def main() -> int:
    """Play; return the exit status."""
    parser = argparse.ArgumentParser(prog="demo", description="Show hot and cold partitions.")
    add_recorded(parser)
    parser.add_argument(
        "--logs",
        type=Path,
        default=Path("build/demo"),
        help="folder for the logs, emptied first (%(default)s)",
    )
    arguments = parser.parse_args()
    try:
        perform(Screen(), arguments.logs, recorded=arguments.recorded)
    except (Surprise, ServerError, PatchedServerError) as error:
        print(f"\nThe demo failed: {error}", file=sys.stderr)
        return 1
    return 0


def add_recorded(parser: argparse.ArgumentParser) -> None:
    """Add the option that says whether to do without ClickHouse."""
    parser.add_argument(
        "--recorded",
        action="store_true",
        default=os.environ.get("DEMO_RECORDED") == "1",
        help="do without ClickHouse, with znodes that were recorded; DEMO_RECORDED=1 says the same",
    )


def perform(screen: Screen, logs: Path, *, recorded: bool) -> None:
    """Start the servers, play, and clean up.

    Raises:
        Surprise: something is not as the demo claims.
        ServerError: a server did not start.
        PatchedServerError: the patch of the servers cannot be compiled here.
    """
    screen.title("olap.partmove: hot and cold partitions, shown on this machine")
    shutil.rmtree(logs, ignore_errors=True)
    logs.mkdir(parents=True)
    with (
        scratch_folder(logs) as folder,
        running_ensembles(folder) as ensembles,
        stage_on(folder, ensembles, recorded=recorded) as stage,
    ):
        Play(screen, ensembles, stage, Runs(ensembles, folder, logs)).play()
    screen.step("The end")
    screen.say(
        f"All of that held. The servers are stopped and their files removed; what they and Ansible wrote "
        f"is in {logs}. docs/patched/move.md tells how to do it on a cluster."
    )


def _has_patched_servers() -> bool:
    """Compile the library of the patch; raises PatchedServerError when the compiler refuses it."""
    try:
        clickhouse_program()
        patched_library()
    except (ServerError, NoCompilerError):
        return False
    return True


@contextmanager
def scratch_folder(logs: Path) -> Iterator[Path]:
    """Make a folder for all files, and keep nothing of it but the logs."""
    with tempfile.TemporaryDirectory(prefix="partmove-demo-") as name:
        folder = Path(name)
        try:
            yield folder
        finally:
            for log in folder.rglob("*.log"):
                shutil.copy(log, logs / "-".join(log.relative_to(folder).parts))


@contextmanager
def stage_on(folder: Path, ensembles: Ensembles, *, recorded: bool) -> Iterator[Stage]:
    """Yield the stage with patched servers, or the recorded one where it is wanted or servers cannot run."""
    if recorded or not _has_patched_servers():
        with recording.recorded_stage(ensembles, recording.read()) as stage:
            yield stage
    else:
        with live_stage(folder / "clickhouse", ensembles) as live:
            yield live


if __name__ == "__main__":
    sys.exit(main())
