# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The examples in the docstrings of the domain are true."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path
from types import ModuleType

import pytest

PACKAGE = "ansible_collections.olap.partmove.plugins.module_utils._partmove"
FOLDER = Path(__file__).resolve().parents[2] / "plugins" / "module_utils" / "_partmove"
FILES = sorted(FOLDER.rglob("*.py"))
WITH_EXAMPLES = [
    ".".join(path.relative_to(FOLDER).with_suffix("").parts)
    for path in FILES
    if ">>> " in path.read_text(encoding="utf-8")
]


def run_examples(module: ModuleType) -> tuple[int, str]:
    """How many examples there are, and what doctest says of those that are not true."""
    runner = doctest.DocTestRunner(verbose=False)
    said: list[str] = []
    for test in doctest.DocTestFinder().find(module):
        runner.run(test, out=said.append)
    return runner.tries, "".join(said)


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_the_examples_of_a_module_are_true(name: str) -> None:
    examples, said = run_examples(importlib.import_module(f"{PACKAGE}.{name}"))
    assert examples > 0, f"{name} has examples where doctest does not look for them"
    assert not said, said


def test_there_are_examples() -> None:
    assert {"zip_strict", "formats.names", "formats.payload", "shard.location", "text"} <= set(WITH_EXAMPLES)


def test_an_example_that_is_not_true_is_seen() -> None:
    examples, said = run_examples(ModuleType("untrue", "Untrue.\n\n>>> 1 + 1\n3\n"))
    assert examples == 1
    assert "Expected:\n    3\nGot:\n    2" in said
