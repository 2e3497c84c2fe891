# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The product's source, read and never run: its files, their imports, and how a breach of a rule is told."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
PLUGINS = ROOT / "plugins"
ROLES = ROOT / "roles"
UTILS = PLUGINS / "module_utils"
DOMAIN = UTILS / "_partmove"
SPARK_JOB = ROLES / "partition_classify" / "files"
COLLECTION = "ansible_collections.olap.partmove"
MODULE_UTILS = f"{COLLECTION}.plugins.module_utils"


class Import(NamedTuple):
    """One imported module, by its full name, and whether it was written with dots in front."""

    line: int
    name: str
    relative: bool


class Breach(NamedTuple):
    """Where a rule is broken, and the rule; ``line`` is 0 where it is about the file as a whole."""

    path: Path
    line: int
    rule: str

    def __str__(self) -> str:
        place = self.path.relative_to(ROOT) if self.path.is_relative_to(ROOT) else self.path
        return f"{place}:{self.line}: {self.rule}" if self.line else f"{place}: {self.rule}"


def told(breaches: Iterable[Breach]) -> str:
    """The breaches for the message of a test that fails, one a line; empty where there is none."""
    return "\n".join(str(each) for each in sorted(breaches))


def product_files() -> list[Path]:
    """Every Python file that users get, sorted."""
    return sorted(path for folder in (PLUGINS, ROLES) for path in folder.rglob("*.py"))


def domain_files() -> list[Path]:
    """Every file of the domain that has code, sorted."""
    return sorted(path for path in DOMAIN.rglob("*.py") if path.name != "__init__.py")


def package_of(path: Path) -> list[str]:
    """The package that the file's relative imports start from, name by name."""
    if path.is_relative_to(SPARK_JOB):
        return list(path.relative_to(SPARK_JOB).parent.parts)
    return [*COLLECTION.split("."), *path.relative_to(ROOT).parent.parts]


def imports_of(path: Path) -> Iterator[Import]:
    """Every import of the file, also those inside of functions."""
    return imports_in(path.read_text(encoding="utf-8"), path)


def imports_in(source: str, path: Path) -> Iterator[Import]:
    """Every import of the text, were it in the file at this path."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(node.lineno, alias.name, relative=False)
        elif isinstance(node, ast.ImportFrom):
            yield from _from_imports(node, path)


def _from_imports(node: ast.ImportFrom, path: Path) -> Iterator[Import]:
    package = package_of(path)
    base = package[: len(package) - node.level + 1] if node.level else []
    name = ".".join([*base, *([node.module] if node.module else [])])
    # `from . import names` imports modules, `from .names import X` what is in one.
    names = [f"{name}.{alias.name}" for alias in node.names] if _is_package(name) else [name]
    for each in names:
        yield Import(node.lineno, each, relative=bool(node.level))


def _is_package(name: str) -> bool:
    if not name.startswith(COLLECTION):
        return False
    return ROOT.joinpath(*name.split(".")[3:]).is_dir()


def begins_with(name: str, prefixes: tuple[str, ...]) -> bool:
    """Whether the module is one of those named, or lies in a package that is."""
    return any(name == prefix or name.startswith(f"{prefix}.") for prefix in prefixes)
