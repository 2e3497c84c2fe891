# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Shows that the tests notice unsafe changes by what the code does: `make mutants`.

The changes are those in the list, or those that `mutants.generated` makes: `make mutants WHAT=generated`. Of
generated mutants, survivors that `mutants.survivors` judges are counted only.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from mutants.catalogue import MUTANTS
from mutants.generated import ROOMS, generated
from mutants.mutant import Mutant, Stale
from mutants.run import SECONDS, Verdict, check_texts, judge
from mutants.survivors import EFFECTS, check_survivors, survivors, wrong_judgements

_GENERATED_SECONDS = 1200.0
"""More than the tests of a room take."""


def main() -> None:
    """Judge all mutants, or those asked for; exit with 1 unless all were killed as they should be."""
    parser = argparse.ArgumentParser(prog="mutants", description=__doc__)
    parser.add_argument(
        "--only", metavar="TEXT", default="", help="judge those with this text in name or file"
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="how many at once")
    parser.add_argument(
        "--generated",
        nargs="*",
        metavar="ROOM",
        help=f"judge generated mutants of rooms (default: {', '.join(ROOMS)})",
    )
    options = parser.parse_args()
    written = options.generated is None
    mutants = MUTANTS if written else generated(options.generated or ROOMS)
    chosen = [mutant for mutant in mutants if options.only in f"{mutant.file}: {mutant.name}"]
    if not chosen:
        sys.exit(f"mutants: none has {options.only!r} in its name or file")
    began = time.monotonic()
    seconds = SECONDS if written else _GENERATED_SECONDS
    try:
        check_texts(chosen)
        if not written:
            check_survivors(survivors(), (mutant.name for mutant in generated(ROOMS)))
        with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
            verdicts = judge(
                chosen,
                Path(folder),
                jobs=options.jobs,
                report=_report if written else _report_survivor,
                seconds=seconds,
            )
    except Stale as error:
        sys.exit(f"mutants: {error}")
    if not written:
        sys.exit(0 if _report_generated(verdicts, time.monotonic() - began) else 1)
    survive = [verdict for verdict in verdicts if verdict.survived]
    print(_summary(verdicts, time.monotonic() - began, survive))
    sys.exit(1 if survive else 0)


def _report_generated(verdicts: Sequence[Verdict], seconds: float) -> bool:
    """Print survivors without a judgement, and judged mutants that a test kills; return whether none is."""
    judged = survivors()
    unjudged = [each for each in verdicts if each.survived and each.mutant.name not in judged]
    wrong = wrong_judgements(verdicts, judged)
    effects = Counter(judged[each.mutant.name].effect for each in verdicts if each.mutant.name in judged)
    counts = ", ".join(f"{effects[effect]} {effect}" for effect in EFFECTS)
    print("\n".join([*wrong, f"judged: {counts}", _summary(verdicts, seconds, unjudged)]))
    return not unjudged and not wrong


def _report(verdict: Verdict) -> None:
    print(f"{_title(verdict.mutant)}: {_end(verdict)}", flush=True)


def _report_survivor(verdict: Verdict) -> None:
    if verdict.survived and verdict.mutant.name not in survivors():
        _report(verdict)


def _title(mutant: Mutant) -> str:
    return f"line {mutant.line} of {mutant.name}" if mutant.generated else f"{mutant.file}: {mutant.name}"


def _end(verdict: Verdict) -> str:
    if verdict.survived:
        return f"SURVIVES, {verdict.why}"
    how = "text, which it is about" if verdict.by_text else "behaviour"
    return f"killed by {how}: {verdict.killed_by.rpartition('/')[2]}"


def _summary(verdicts: Sequence[Verdict], seconds: float, listed: Sequence[Verdict]) -> str:
    survive = sum(1 for verdict in verdicts if verdict.survived)
    lines = [f"survives: {_title(each.mutant)}: {each.why}" for each in listed]
    by_text = sum(1 for verdict in verdicts if verdict.by_text)
    by_behaviour = sum(1 for verdict in verdicts if not verdict.survived and not verdict.by_text)
    unnoticed = len(verdicts) - by_text - by_behaviour
    lines.append(
        f"{len(verdicts)} mutants: {by_behaviour} killed by behaviour, {by_text} by text alone,"
        f" {unnoticed} unnoticed; {survive} survive; {seconds:.0f} s"
    )
    return "\n".join(lines)


if __name__ == "__main__":
    main()
