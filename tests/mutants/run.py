# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Applies mutants to copies of the repository, one after the other, and runs the tests that have to fail."""

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


class Verdict(NamedTuple):
    """What became of a mutant; ``why`` is empty where it was killed."""

    mutant: Mutant
    killed_by: str
    why: str

    @property
    def survived(self) -> bool:
        """Whether no test noticed it, or none could."""
        return bool(self.why)


class Worker:
    """A process of `mutants.worker` in a copy of the repository."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        path = os.pathsep.join(str(tree.root / each) for each in ("build/collections", "tests"))
        self._process = subprocess.Popen(
            [sys.executable, "-m", "mutants.worker"],
            cwd=tree.root,
            env={**os.environ, "PYTHONPATH": path},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_error: object) -> None:
        self._process.communicate()

    def run(self, node_ids: Sequence[str], seconds: float = SECONDS, **options: bool) -> dict[str, Any]:
        """Run the tests; returns an `Answer` of the worker as a mapping."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        request = {"node_ids": list(node_ids), "seconds": seconds, **options}
        self._process.stdin.write(f"{json.dumps(request)}\n")
        self._process.stdin.flush()
        answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        return answer

    def judge(self, mutant: Mutant) -> Verdict:
        """Run the tests of the mutant with its change."""
        with self._tree.changed_by(mutant):
            answer = self.run(mutant.node_ids)
        if answer["broken"]:
            return Verdict(mutant, "", f"it is no program that could do harm: {answer['broken']}")
        if not answer["failed"]:
            return Verdict(mutant, "", "its tests pass all the same")
        return Verdict(mutant, answer["failed"][0], "")


def check_texts(mutants: Sequence[Mutant]) -> None:
    """Raise Stale unless each text that is replaced is in its file once, and no name is used twice."""
    names = [mutant.name for mutant in mutants]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise Stale(f"There is more than one mutant named {twice[0]!r}")
    for mutant in mutants:
        applied(mutant, (ROOT / mutant.path).read_text(encoding="utf-8"))


def _nobody(verdict: Verdict) -> None:
    """Tell it to nobody."""


def judge(
    mutants: Sequence[Mutant],
    folder: Path,
    *,
    jobs: int = 1,
    known: Sequence[Mutant] = (),
    told: Callable[[Verdict], object] = _nobody,
) -> list[Verdict]:
    """Judge the mutants in copies below the folder, so many at once.

    known: mutants of which it is only looked whether their tests are there. told: called with each verdict.
    Raises Stale, also where a test that has to fail does so without any change.
    """
    with ExitStack() as stack:
        trees = [Tree.of_the_repository(folder / "0")]
        first = stack.enter_context(Worker(trees[0]))
        _check_there(first, known)
        _check_pass(first, mutants)
        trees += [trees[0].copy(folder / str(number)) for number in range(1, jobs)]
        workers: SimpleQueue[Worker] = SimpleQueue()
        for each in (first, *(stack.enter_context(Worker(tree)) for tree in trees[1:])):
            workers.put(each)

        def judged(mutant: Mutant) -> Verdict:
            worker = workers.get()
            try:
                return worker.judge(mutant)
            finally:
                workers.put(worker)

        with ThreadPoolExecutor(jobs) as pool:
            return list(_each(pool.map(judged, mutants), told))


def _each(verdicts: Iterator[Verdict], told: Callable[[Verdict], object]) -> Iterator[Verdict]:
    for verdict in verdicts:
        told(verdict)
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


def _tests_of(mutants: Sequence[Mutant]) -> list[str]:
    return sorted({node_id for mutant in mutants for node_id in mutant.node_ids})
