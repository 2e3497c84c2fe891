# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Lets others read a table and its twin as one while partitions move, and looks for wrong answers.

`python -m seen_once` starts two ensembles and two ClickHouse servers for each version. Partitions move there
and back, and runs and servers are killed, until there are enough reads. The exit status is 1 when a read was
wrong.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

from seen_once.campaign import Campaign, problems_of
from seen_once.ground import ground


def main() -> int:
    """Read and move; return the exit status."""
    arguments = _arguments()
    total = wrong = 0
    problems: list[str] = []
    for version in arguments.versions.split():
        with tempfile.TemporaryDirectory(prefix="seen-once-") as folder:
            # Where modules keep their journals.
            os.environ["XDG_STATE_HOME"] = folder
            with ground(Path(folder), version) as place:
                campaign = Campaign(
                    place,
                    threads=arguments.threads,
                    seed=arguments.seed,
                    kills=not arguments.no_kills,
                    readers=arguments.readers,
                )
                tally = campaign.run(arguments.reads, 60 * arguments.minutes, _say)
                left = place.policies()
        _say(f"{version}: {tally.summary()}; {campaign.moves.summary()}; {left} row policies left")
        _say(f"{version}: deferred {dict(campaign.moves.deferred)}; wrong {dict(tally.wrong)}")
        total, wrong = total + tally.reads.total(), wrong + tally.wrong.total()
        problems += [f"{version}: {each}" for each in problems_of(tally, campaign.moves)]
        problems += [f"{version}: {left} row policies are left"] if left else []
    for each in problems:
        _say(each)
    _say(f"{total:,} reads, {wrong:,} wrong")
    return 1 if problems else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="seen_once", description="Read while partitions are moved.")
    parser.add_argument("--versions", default="24.8 25.8", help="of ClickHouse (%(default)s)")
    parser.add_argument("--reads", type=int, default=50_000, help="of each version (%(default)s)")
    parser.add_argument("--minutes", type=float, default=600.0, help="at most, of each version (%(default)s)")
    parser.add_argument("--threads", type=int, default=8, help="that read (%(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of kills and kinds (%(default)s)")
    parser.add_argument("--no-kills", action="store_true", help="kill nothing")
    parser.add_argument("--readers", default="policy", help="the option of twin_move (%(default)s)")
    return parser.parse_args()


def _say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
