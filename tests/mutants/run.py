# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Applies mutants to copies of the repository, one after the other, and runs the tests that have to fail.

A mutant is judged in a copy with blanked messages first, by the tests that pass there without any change:
what fails then shows another behaviour. Only where nothing fails, the tests run again with messages.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from queue import SimpleQueue
from typing import Any, NamedTuple

from mutants.mutant import Mutant, Stale, applied
from mutants.working_copy import ROOT, Tree

SECONDS = 300.0
"""More than the tests of one mutant take on the slowest machine."""
_ALL_SECONDS = 1500.0
_HANGS_SECONDS = 60.0
"""More than a test takes; generated mutants often make one hang."""


class Verdict(NamedTuple):
    """What became of a mutant; ``why`` is empty where it was killed as it should be."""

    mutant: Mutant
    killed_by: str
    why: str
    by_text: bool = False
    """Whether it was killed, and only by tests that compare messages."""

    @property
    def survived(self) -> bool:
        """Whether no test noticed it, none could, or none but by the words of a message."""
        return bool(self.why)


class Worker:
    """A process of `mutants.worker` in a copy of the repository."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        path = os.pathsep.join(str(tree.root / each) for each in ("build/collections", "tests"))
        self._process = subprocess.Popen(
            [sys.executable, "-m", "mutants.worker"],
            cwd=tree.root,
            # Whatever case of a test a mutant names.
            env={**os.environ, "PYTHONPATH": path, "WHOLE": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_error: object) -> None:
        self._process.communicate()

    def run(self, node_ids: Sequence[str], seconds: float = SECONDS, **options: object) -> dict[str, Any]:
        """Run the tests; returns an `Answer` of the worker as a mapping."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        request = {
            "node_ids": list(node_ids),
            "seconds": seconds,
            "blanked": bool(self._tree.sources),
            **options,
        }
        self._process.stdin.write(f"{json.dumps(request)}\n")
        self._process.stdin.flush()
        answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        return answer

    def run_changed(self, mutant: Mutant, seconds: float, deselected: Sequence[str] = ()) -> tuple[str, str]:
        """Run the tests of the changed code; returns the first failure, and why no run was possible."""
        with self._tree.changed_by(mutant):
            limit = _HANGS_SECONDS if mutant.generated else 0.0
            answer = self.run(mutant.node_ids, seconds, deselected=list(deselected), test_seconds=limit)
        return next(iter(answer["failed"]), ""), answer["broken"]


class Pair(NamedTuple):
    """Two workers: with blanked messages, and with messages."""

    blanked: Worker
    plain: Worker
    wording: Sequence[str]
    """Tests that fail where messages are blanked, without any mutant."""
    seconds: float

    def judge(self, mutant: Mutant) -> Verdict:
        """Run the tests of the mutant until it is known how they notice it."""
        failed, broken = self.blanked.run_changed(mutant, self.seconds, self.wording)
        if broken and mutant.generated:
            return Verdict(mutant, broken, "")
        if failed and not broken:
            return Verdict(mutant, failed, "")
        failed, broken = self.plain.run_changed(mutant, self.seconds)
        if broken:
            return Verdict(mutant, "", f"it is no program that could do harm: {broken}")
        if not failed:
            return Verdict(mutant, "", "its tests pass all the same")
        why = "" if mutant.about_text else f"killed by text alone: {failed.rpartition('/')[2]}"
        return Verdict(mutant, failed, why, by_text=True)


def check_texts(mutants: Sequence[Mutant]) -> None:
    """Raise Stale unless each text that is replaced is in its file once, and no name is used twice."""
    names = [mutant.name for mutant in mutants]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise Stale(f"There is more than one mutant named {twice[0]!r}")
    for mutant in mutants:
        applied(mutant, (ROOT / mutant.path).read_text(encoding="utf-8"))


def _nobody(verdict: Verdict) -> None:
    """Report to nobody."""


def judge(
    mutants: Sequence[Mutant],
    folder: Path,
    *,
    jobs: int = 1,
    known: Sequence[Mutant] = (),
    report: Callable[[Verdict], object] = _nobody,
    seconds: float = SECONDS,
) -> list[Verdict]:
    """Judge the mutants in copies below the folder, so many at once.

    known: mutants of which only is checked whether their tests are there. report: called with each verdict.
    Raises Stale, also where a test that has to fail does so without any change.
    """
    with ExitStack() as stack:
        tree = Tree.of_the_repository(folder / "0")
        first = stack.enter_context(Worker(tree))
        _check_there(first, known)
        _check_pass(first, mutants)
        without = tree.without_messages(folder / "0-blanked")
        first_blanked = stack.enter_context(Worker(without))
        wording = _failing_by_wording(first_blanked, mutants)
        pairs: SimpleQueue[Pair] = SimpleQueue()
        pairs.put(Pair(first_blanked, first, wording, seconds))
        for number in range(1, jobs):
            copies = without.copy(folder / f"{number}-blanked"), tree.copy(folder / str(number))
            blanked, plain = (stack.enter_context(Worker(each)) for each in copies)
            pairs.put(Pair(blanked, plain, wording, seconds))

        def judged(mutant: Mutant) -> Verdict:
            pair = pairs.get()
            try:
                return pair.judge(mutant)
            finally:
                pairs.put(pair)

        with ThreadPoolExecutor(jobs) as pool:
            return list(_each(pool.map(judged, mutants), report))


def _each(verdicts: Iterator[Verdict], report: Callable[[Verdict], object]) -> Iterator[Verdict]:
    for verdict in verdicts:
        report(verdict)
        yield verdict


def _check_there(worker: Worker, mutants: Sequence[Mutant]) -> None:
    if mutants:
        answer = worker.run(_tests_of(mutants), _ALL_SECONDS, only_collect=True)
        if answer["broken"]:
            raise Stale(f"A test that a mutant names is not there: {answer['broken']}\n{answer['output']}")


def _check_pass(worker: Worker, mutants: Sequence[Mutant]) -> None:
    answer = worker.run(_tests_of(mutants), _ALL_SECONDS, first_only=False, keep_compiled=True)
    if answer["broken"] or answer["failed"]:
        reason = answer["broken"] or f"it fails without any mutant: {', '.join(answer['failed'])}"
        raise Stale(f"A test that has to kill a mutant cannot: {reason}\n{answer['output']}")


def _failing_by_wording(worker: Worker, mutants: Sequence[Mutant]) -> list[str]:
    """Return the tests that compare messages: they fail where messages are blanked."""
    answer = worker.run(_tests_of(mutants), _ALL_SECONDS, first_only=False, keep_compiled=True)
    if answer["broken"]:
        raise Stale(f"Tests cannot run with blanked messages: {answer['broken']}\n{answer['output']}")
    failed: list[str] = answer["failed"]
    return failed


def _tests_of(mutants: Sequence[Mutant]) -> list[str]:
    return sorted({node_id for mutant in mutants for node_id in mutant.node_ids})
