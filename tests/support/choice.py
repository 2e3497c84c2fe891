# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A plugin of pytest: which tests run, with which versions of ClickHouse, in which order, on which worker."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from support import share, whole_only
from support.servers.ladder.rungs import NEWEST, RUNGS, USUAL, rung
from support.servers.modern.server import ENGINE

if TYPE_CHECKING:
    from xdist.remote import Producer
    from xdist.scheduler import LoadScopeScheduling

# How a test asks for the one session of Spark that a worker has, and how long all of these take.
_SPARK = re.compile(r'\bspark: SparkSession\b|\busefixtures\("(?:kept_)?spark"\)')
_SPARK_MINUTES = 3.0

_TESTS = Path(__file__).resolve().parents[1]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run tests of the ladder with each version; RUNGS="24.5 25.5" selects them, and for all modern tests."""
    real = os.environ.get("RUNGS", "").split()
    marker = metafunc.definition.get_closest_marker("ladder")
    versions = real or USUAL
    if "real_rung" in metafunc.fixturenames:
        with_server = [each for each in versions if each != ENGINE and rung(each).real]
        metafunc.parametrize("real_rung", with_server, indirect=True)
    if (real or marker) and "modern_version" in metafunc.fixturenames:
        # In whole runs the mark `smoke` names versions that all tests have.
        of_twins = real or list(dict.fromkeys((*_smoke_versions(metafunc), *_versions_of_all())))
        metafunc.parametrize("modern_version", of_twins, indirect=True, scope="module")


def _versions_of_all() -> tuple[str, ...]:
    """The versions with which all tests of the ladder run: with each one they take too long for every run."""
    return USUAL if whole_only.is_whole() else (NEWEST,)


def _smoke_versions(metafunc: pytest.Metafunc) -> list[str]:
    """The versions besides the newest real one that the mark `smoke` of a test asks for."""
    smoke = metafunc.definition.get_closest_marker("smoke")
    if smoke is None:
        return []
    newest = [] if "older" in smoke.args else [ENGINE]
    return [RUNGS[0].name, *USUAL[:-1], *newest]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Begin with what takes longest, or one worker would be at it when the others have nothing to do.

    A worker has its next file early: with more of those than workers, one would wait behind the longest.
    """
    every = list(items)
    items[:] = [each for each in items if not _is_no_smoke_test(each)]
    left_out = set(_for_whole_runs(items))
    items[:] = [each for each in items if each not in left_out]
    if len(items) < len(every):
        run = set(items)
        config.hook.pytest_deselected(items=[each for each in every if each not in run])
    items.sort(key=_minutes, reverse=True)


def _is_no_smoke_test(item: pytest.Item) -> bool:
    """Whether the mark `smoke` of a test names other parameters, and no version was asked for."""
    marker = item.get_closest_marker("smoke")
    if (
        marker is None
        or not marker.kwargs
        or os.environ.get("RUNGS")
        or not isinstance(item, pytest.Function)
    ):
        return False
    params = item.callspec.params
    if params["modern_version"] in _versions_of_all():
        return False
    return any(params[name] != value for name, value in marker.kwargs.items())


def _for_whole_runs(items: Sequence[pytest.Item]) -> list[pytest.Item]:
    """Return those of which enough cases of the same test run; see shares.py."""
    tests: dict[tuple[str, str], list[pytest.Function]] = {}
    for item in items:
        if isinstance(item, pytest.Function):
            file = str(item.path.relative_to(_TESTS)) if item.path.is_relative_to(_TESTS) else ""
            if whole_only.share_of(file, item.originalname):
                tests.setdefault((file, item.originalname), []).append(item)
    return [
        each
        for (file, test), cases in tests.items()
        for each, place in zip(cases, share.places([*map(_params, cases)]), strict=True)
        if whole_only.is_left_out(file, test, place, each.callspec.id if _params(each) else "")
    ]


def _params(item: pytest.Function) -> Mapping[str, object]:
    """Parameter → value; empty for a test without any."""
    return item.callspec.params if hasattr(item, "callspec") else {}


def _minutes(item: pytest.Item) -> float:
    """Return what the marker `long` says, and 0 where there is none."""
    marker = item.get_closest_marker("long")
    if marker is not None:
        return float(marker.kwargs["minutes"])
    return _SPARK_MINUTES if _uses_spark(item.path) else 0.0


@cache
def _uses_spark(path: Path) -> bool:
    """Whether tests of the file have the session of the fixture `spark`."""
    return _SPARK.search(path.read_text(encoding="utf-8")) is not None


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadScopeScheduling | None:
    """Let one worker have all files that use the fixture `spark`, or each of them would start Spark."""
    if config.getvalue("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling  # noqa: PLC0415 - only where tests run beside each other

    class OneSpark(LoadFileScheduling):  # type: ignore[misc] # xdist has no type information
        def _split_scope(self, nodeid: str) -> str:
            file: str = super()._split_scope(nodeid)
            return "spark" if _uses_spark(config.rootpath / file) else file

    return OneSpark(config, log)
