# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What may import what: the imports of every file are read, none is run.

The domain imports the standard library and itself, so that it runs inside of Ansible modules and, as a
zip, on Spark. The adapters import the domain; tasks import all three; modules import their task.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[2]
PLUGINS = ROOT / "plugins"
UTILS = PLUGINS / "module_utils"
SPARK_JOB = ROOT / "roles" / "partition_classify" / "files"
COLLECTION = "ansible_collections.olap.partmove"
MODULE_UTILS = f"{COLLECTION}.plugins.module_utils"


class Import(NamedTuple):
    """One imported module, by its full name, and whether it was written with dots in front."""

    line: int
    name: str
    relative: bool


class Layer(NamedTuple):
    """Files, and prefixes of the module names that they may import besides the standard library.

    absolute: what may be imported of the collection by its full name; elsewhere only relatively.
    """

    folder: Path
    pattern: str
    outside: tuple[str, ...]
    relative: tuple[str, ...] = ()
    absolute: tuple[str, ...] = ()


DOMAIN = f"{MODULE_UTILS}._partmove"
ZOOKEEPER = f"{MODULE_UTILS}._zookeeper"
CLICKHOUSE = f"{MODULE_UTILS}._clickhouse"
TASKS = f"{MODULE_UTILS}._tasks"
LAYERS = {
    "domain": Layer(UTILS / "_partmove", "**/*.py", (), relative=(DOMAIN,)),
    "zookeeper": Layer(UTILS / "_zookeeper", "**/*.py", ("kazoo",), relative=(DOMAIN, ZOOKEEPER)),
    "clickhouse": Layer(UTILS / "_clickhouse", "**/*.py", ("lxml",), relative=(DOMAIN, CLICKHOUSE)),
    "tasks": Layer(UTILS / "_tasks", "*.py", ("ansible.module_utils",), relative=(MODULE_UTILS,)),
    "modules": Layer(PLUGINS / "modules", "*.py", ("ansible.module_utils",), absolute=(TASKS,)),
    "action": Layer(PLUGINS / "action", "*.py", ("ansible",)),
    "inventory": Layer(PLUGINS / "inventory", "*.py", ("ansible",), absolute=(TASKS,)),
    "filter": Layer(PLUGINS / "filter", "*.py", ("ansible.errors",), absolute=(DOMAIN,)),
    "doc_fragments": Layer(PLUGINS / "doc_fragments", "*.py", ()),
    "Spark job": Layer(
        SPARK_JOB,
        "**/*.py",
        (
            # The zip archive of module_utils; it has the domain and the adapters.
            "olap_partmove._clickhouse",
            "olap_partmove._partmove",
            "olap_partmove._zookeeper",
            "build_package",
            "jinja2",
            "partition_classify",
            "py4j",
            "pyspark",
            "pyarrow",
            "yaml",
        ),
        relative=("partition_classify",),
    ),
}


def files_of(layer: Layer) -> list[Path]:
    return sorted(layer.folder.glob(layer.pattern))


def package_of(path: Path) -> list[str]:
    """The package that the file's relative imports start from."""
    if path.is_relative_to(SPARK_JOB):
        return list(path.relative_to(SPARK_JOB).parent.parts)
    return [*COLLECTION.split("."), *path.relative_to(ROOT).parent.parts]


def imports_of(path: Path) -> Iterator[Import]:
    """Every import of the file, also those inside of functions."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
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
    return any(name == prefix or name.startswith(f"{prefix}.") for prefix in prefixes)


def is_allowed(each: Import, layer: Layer) -> bool:
    if each.relative:
        return begins_with(each.name, layer.relative)
    if each.name.split(".")[0] in sys.stdlib_module_names or begins_with(each.name, layer.outside):
        return True
    return begins_with(each.name, layer.absolute)


@pytest.mark.parametrize("layer", LAYERS.values(), ids=LAYERS)
def test_a_layer_imports_only_what_it_may(layer: Layer) -> None:
    files = files_of(layer)
    forbidden = [
        f"{path.relative_to(ROOT)}:{each.line} imports {each.name}"
        for path in files
        for each in imports_of(path)
        if not is_allowed(each, layer)
    ]
    assert forbidden == []


def test_every_plugin_and_job_file_belongs_to_a_layer() -> None:
    known = {path for layer in LAYERS.values() for path in files_of(layer)}
    found = {path for folder in (PLUGINS, SPARK_JOB) for path in folder.rglob("*.py")}
    assert found - known == set()


def test_files_that_know_ansible_are_few() -> None:
    """The runner knows AnsibleModule; nothing else below module_utils knows Ansible at all."""
    knowing = {
        path.relative_to(UTILS).as_posix()
        for path in UTILS.rglob("*.py")
        for each in imports_of(path)
        if begins_with(each.name, ("ansible",))
    }
    assert knowing == {"_tasks/runner.py"}


@pytest.mark.parametrize(
    ("layer", "file", "source"),
    [
        ("domain", "_partmove/x.py", "import kazoo"),
        ("domain", "_partmove/x.py", "from .._zookeeper import store"),
        ("domain", "_partmove/x.py", "from .._zookeeper.store import connect"),
        ("domain", "_partmove/x.py", f"from {DOMAIN}.formats.names import PartName"),
        ("domain", "_partmove/x.py", "def late():\n    import yaml"),
        ("zookeeper", "_zookeeper/x.py", "from .._clickhouse.replica_probe import HttpReplicaProbe"),
        ("zookeeper", "_zookeeper/x.py", "from .._tasks import runner"),
        ("clickhouse", "_clickhouse/x.py", "import requests"),
        ("modules", "../modules/x.py", f"from {DOMAIN}.formats.names import PartName"),
        ("modules", "../modules/x.py", f"from {MODULE_UTILS} import _partmove"),
        ("modules", "../modules/x.py", "import kazoo"),
        ("tasks", "_tasks/x.py", "from ansible.errors import AnsibleError"),
        ("tasks", "_tasks/x.py", f"from {MODULE_UTILS}._partmove.formats.names import PartName"),
    ],
)
def test_a_breach_is_seen(
    layer: str, file: str, source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = tmp_path / "x.py"
    written.write_text(source)
    place = (UTILS / file).resolve()
    monkeypatch.setattr(f"{__name__}.package_of", lambda _path: _package_at(place))
    assert [each for each in imports_of(written) if not is_allowed(each, LAYERS[layer])]


def _package_at(place: Path) -> list[str]:
    return [*COLLECTION.split("."), *place.relative_to(ROOT).parent.parts]
