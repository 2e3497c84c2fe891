# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What may import what: the imports of every file are read, none is run.

The domain imports the standard library and itself, so that it runs inside of Ansible modules and, as a
zip, on Spark. The adapters import the domain; tasks import all three; modules import their task.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from support import source
from support.source import MODULE_UTILS, PLUGINS, SPARK_JOB, UTILS, Breach, Import, begins_with, told

DOMAIN = f"{MODULE_UTILS}._partmove"
ZOOKEEPER = f"{MODULE_UTILS}._zookeeper"
CLICKHOUSE = f"{MODULE_UTILS}._clickhouse"
TASKS = f"{MODULE_UTILS}._tasks"
PLUGIN_UTILS = f"{source.COLLECTION}.plugins.plugin_utils"


class Layer(NamedTuple):
    """Files, and prefixes of the module names that they may import besides the standard library.

    absolute: what may be imported of the collection by its full name; elsewhere only relatively.
    """

    folder: Path
    pattern: str
    outside: tuple[str, ...]
    relative: tuple[str, ...] = ()
    absolute: tuple[str, ...] = ()

    @property
    def rule(self) -> str:
        """What the layer may import, as a part of a sentence."""
        rule = _listed("the standard library", *self.outside, *self.absolute)
        return f"{rule}, and relatively {_listed(*self.relative)}" if self.relative else rule


def _listed(*names: str) -> str:
    *most, last = (name.removeprefix(f"{MODULE_UTILS}.") for name in names)
    return f"{', '.join(most)} and {last}" if most else last


LAYERS = {
    "domain": Layer(UTILS / "_partmove", "**/*.py", (), relative=(DOMAIN,)),
    "zookeeper": Layer(UTILS / "_zookeeper", "**/*.py", ("kazoo",), relative=(DOMAIN, ZOOKEEPER)),
    "clickhouse": Layer(UTILS / "_clickhouse", "**/*.py", ("lxml", "yaml"), relative=(DOMAIN, CLICKHOUSE)),
    "tasks": Layer(UTILS / "_tasks", "*.py", ("ansible.module_utils",), relative=(MODULE_UTILS,)),
    "modules": Layer(PLUGINS / "modules", "*.py", ("ansible.module_utils",), absolute=(TASKS,)),
    "action": Layer(PLUGINS / "action", "*.py", ("ansible",), absolute=(PLUGIN_UTILS,)),
    "plugin_utils": Layer(PLUGINS / "plugin_utils", "*.py", ("yaml",), relative=(PLUGIN_UTILS,)),
    "inventory": Layer(PLUGINS / "inventory", "*.py", ("ansible",), absolute=(TASKS,)),
    "lookup": Layer(PLUGINS / "lookup", "*.py", ("ansible",), absolute=(PLUGIN_UTILS,)),
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
            "class_archive",
            "packaged",
            # With the package of the templates comes that of what is safe in them.
            "jinja2",
            "markupsafe",
            "partition_classify",
            "py4j",
            "pyspark",
            "pyarrow",
            "yaml",
        ),
        relative=("partition_classify",),
    ),
    # Runs as it is on the hosts of an ensemble, which have nothing but Python.
    "role zookeeper": Layer(source.ROLES / "zookeeper" / "files", "**/*.py", ()),
}
KNOW_ANSIBLE = {"_tasks/runner.py"}
"""The files below module_utils that know Ansible at all: the runner knows AnsibleModule."""


def files_of(layer: Layer) -> list[Path]:
    return sorted(layer.folder.glob(layer.pattern))


def is_allowed(each: Import, layer: Layer) -> bool:
    if each.relative:
        return begins_with(each.name, layer.relative)
    if each.name.split(".")[0] in sys.stdlib_module_names or begins_with(each.name, layer.outside):
        return True
    return begins_with(each.name, layer.absolute)


def breaches_of(layer: Layer, path: Path, imports: Iterable[Import]) -> Iterator[Breach]:
    for each in imports:
        if not is_allowed(each, layer):
            dots = "relatively" if each.relative else "by its full name"
            yield Breach(path, each.line, f"imports {each.name} {dots}; it may import {layer.rule}")


@pytest.mark.parametrize("layer", LAYERS.values(), ids=LAYERS)
def test_a_layer_imports_only_what_it_may(layer: Layer) -> None:
    files = files_of(layer)
    breaches = [breach for path in files for breach in breaches_of(layer, path, source.imports_of(path))]
    assert files
    assert not breaches, told(breaches)


def test_every_product_file_belongs_to_one_layer() -> None:
    known = [path for layer in LAYERS.values() for path in files_of(layer)]
    lost = set(source.product_files()) - set(known)
    assert not lost, told(Breach(path, 0, "belongs to no layer; give it one in LAYERS") for path in lost)
    assert len(known) == len(set(known))


def test_files_that_know_ansible_are_few() -> None:
    knowing = {
        path.relative_to(UTILS).as_posix(): Breach(
            path, each.line, f"imports {each.name}; below module_utils only the runner knows Ansible"
        )
        for path in UTILS.rglob("*.py")
        for each in source.imports_of(path)
        if begins_with(each.name, ("ansible",))
    }
    breaches = [breach for file, breach in knowing.items() if file not in KNOW_ANSIBLE]
    assert not breaches, told(breaches)
    assert knowing.keys() == KNOW_ANSIBLE


@pytest.mark.parametrize(
    ("layer", "file", "text"),
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
        ("role zookeeper", "../../roles/zookeeper/files/x.py", "import kazoo"),
    ],
)
def test_a_breach_is_seen(layer: str, file: str, text: str) -> None:
    path = (UTILS / file).resolve()
    assert list(breaches_of(LAYERS[layer], path, source.imports_in(text, path)))


def test_a_breach_is_told_with_its_place_and_the_rule() -> None:
    path = UTILS / "_zookeeper" / "x.py"
    imports = source.imports_in("import json\n\nfrom .._tasks import runner\n", path)
    assert told(breaches_of(LAYERS["zookeeper"], path, imports)) == (
        f"plugins/module_utils/_zookeeper/x.py:3: imports {TASKS}.runner relatively;"
        " it may import the standard library and kazoo, and relatively _partmove and _zookeeper"
    )
