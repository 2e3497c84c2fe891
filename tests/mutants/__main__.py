# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Shows that the tests notice each of the unsafe changes in the list: `make mutants`."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from mutants.catalogue import MUTANTS
from mutants.mutant import Mutant, Stale
from mutants.run import Verdict, check_texts, judge


def main() -> None:
    """Judge all mutants, or those asked for; the status tells whether all were killed."""
    parser = argparse.ArgumentParser(prog="mutants", description=__doc__)
    parser.add_argument(
        "--only", metavar="TEXT", default="", help="judge those with this text in name or file"
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="how many at once")
    options = parser.parse_args()
    chosen = [mutant for mutant in MUTANTS if options.only in f"{mutant.file}: {mutant.name}"]
    if not chosen:
        sys.exit(f"mutants: none has {options.only!r} in its name or file")
    began = time.monotonic()
    try:
        check_texts(MUTANTS)
        with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
            verdicts = judge(chosen, Path(folder), jobs=options.jobs, told=_tell)
    except Stale as error:
        sys.exit(f"mutants: {error}")
    survivors = [verdict for verdict in verdicts if verdict.survived]
    print(_summary(chosen, survivors, time.monotonic() - began))
    sys.exit(1 if survivors else 0)


def _tell(verdict: Verdict) -> None:
    end = (
        f"SURVIVES, {verdict.why}"
        if verdict.survived
        else f"killed by {verdict.killed_by.rpartition('/')[2]}"
    )
    print(f"{verdict.mutant.file}: {verdict.mutant.name}: {end}", flush=True)


def _summary(mutants: Sequence[Mutant], survivors: Sequence[Verdict], seconds: float) -> str:
    lines = [f"survives: {each.mutant.file}: {each.mutant.name}: {each.why}" for each in survivors]
    killed = len(mutants) - len(survivors)
    lines.append(f"{len(mutants)} mutants, {killed} killed, {len(survivors)} survive; {seconds:.0f} s")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
