# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Breaks real servers at the requests of runs that move partitions there and back, and looks for losses.

`python -m faults` starts two ensembles of three members and two patched ClickHouse servers, and breaks
something at one request of each run. The exit status is 1 when anything is not as it must be; the logs of
all servers are in build/faults then.
"""

from __future__ import annotations

import argparse
import logging
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from faults.campaign import Campaign, Tally
from faults.field import running_field
from faults.kinds import PHASES, Phase, one_at_each

_LOGS = Path("build/faults")


def main() -> int:
    """Break things; return the exit status."""
    arguments = _arguments()
    shutil.rmtree(arguments.logs, ignore_errors=True)
    arguments.logs.mkdir(parents=True)
    # Clients tell of each connection that breaks.
    logging.basicConfig(filename=arguments.logs / "clients.log", level=logging.WARNING)
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="faults-") as folder, running_field(Path(folder)) as field:
        # Where modules keep their journals.
        os.environ["XDG_STATE_HOME"] = folder
        campaign = Campaign(field, arguments.seed, _say)
        try:
            requests = arguments.requests or campaign.requests()
            counted = ",".join(str(requests[phase]) for phase in PHASES)
            _say(
                f"seed {arguments.seed}; requests of a run: {counted} ({', '.join(p.value for p in PHASES)})"
            )
            campaign.run(requests, arguments.faults or one_at_each(requests), arguments.only)
        except BaseException:
            _keep(Path(folder), arguments.logs)
            raise
        if campaign.tally.bad:
            _keep(Path(folder), arguments.logs)
    _conclude(campaign.tally, requests, time.monotonic() - begin)
    for number in campaign.tally.bad:
        _say(f"again: make faults SEED={arguments.seed} ONLY={number} ARGS='--requests {counted}'")
    return 1 if campaign.tally.bad else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="faults", description="Break servers while partitions are moved.")
    parser.add_argument("--faults", type=int, help="how many, instead of one at each request of all runs")
    parser.add_argument("--seed", type=int, default=1, help="which of all orders (%(default)s)")
    parser.add_argument(
        "--only", type=_numbers, default=(), help="only faults of these numbers, such as 17,20-29"
    )
    parser.add_argument("--requests", type=_requests, help="of a run of each phase, instead of counting them")
    parser.add_argument("--logs", type=Path, default=_LOGS, help="folder, emptied first (%(default)s)")
    return parser.parse_args()


def _numbers(text: str) -> tuple[int, ...]:
    ranges = [each.split("-") for each in text.split(",")]
    return tuple(number for each in ranges for number in range(int(each[0]), int(each[-1]) + 1))


def _requests(text: str) -> dict[Phase, int]:
    return dict(zip(PHASES, map(int, text.split(",")), strict=True))


def _keep(folder: Path, logs: Path) -> None:
    for log in folder.rglob("*.log"):
        shutil.copy(log, logs / "-".join(log.relative_to(folder).parts))
    _say(f"the logs of all servers are in {logs}")


def _conclude(tally: Tally, requests: Mapping[Phase, int], seconds: float) -> None:
    _say(
        f"\n{tally.hits} faults in {seconds / 60:.0f} min; {tally.missed} more at requests that did not come"
    )
    for title, counted in (
        ("kind", tally.faults),
        ("end of the run", tally.endings),
        ("meanwhile", tally.acts),
    ):
        for name, times in sorted(counted.items()):
            _say(f"  {title}: {name}: {times}")
    for phase, numbers in tally.requests.items():
        _say(f"  {phase}: something was broken at {len(numbers)} of its {requests[Phase(phase)]} requests")
    _say(f"  looks at both ensembles while runs were disturbed: {tally.looks}")
    _say(f"  runs without a fault that had to be repeated: {tally.repeated}")
    _say(f"  restarts of both servers: {tally.restarts}")
    _say(f"{len(tally.bad)} violations")


def _say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
