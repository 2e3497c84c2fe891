# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Action plugins are internal helpers: documented, but no modules; long modules are routed to one of them."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[4]
MODULES = ROOT / "plugins" / "modules"
ACTIONS = sorted((ROOT / "plugins" / "action").glob("*.py"))
ROUTED_TO = "olap.partmove._with_progress"


def runtime() -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load((ROOT / "meta" / "runtime.yml").read_text(encoding="utf-8"))
    return content


def test_action_plugins_are_internal_and_documented() -> None:
    assert {path.stem for path in ACTIONS} == {path.stem for path in MODULES.glob("*.yml")}
    assert all(path.stem.startswith("_") for path in ACTIONS)
    for path in ACTIONS:
        documentation = yaml.safe_load((MODULES / f"{path.stem}.yml").read_text(encoding="utf-8"))
        assert documentation["DOCUMENTATION"]["module"] == path.stem


def test_options_of_a_helper_are_those_of_its_documentation() -> None:
    for path in ACTIONS:
        documented = yaml.safe_load((MODULES / f"{path.stem}.yml").read_text(encoding="utf-8"))
        specs = [
            node.args[0]
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "self.validate_argument_spec"
        ]
        names = {
            key.value
            for spec in specs
            if isinstance(spec, ast.Dict)
            for key in spec.keys
            if isinstance(key, ast.Constant)
        }
        assert names == set(documented["DOCUMENTATION"]["options"])


def test_every_module_of_the_collection_is_public() -> None:
    assert list(MODULES.glob("_*.py")) == []
    assert sorted(runtime()["action_groups"]["partmove"]) == sorted(
        path.stem for path in MODULES.glob("*.py")
    )


def test_modules_with_progress_are_routed() -> None:
    with_progress = {
        path.stem
        for path in MODULES.glob("*.py")
        if "olap.partmove.load.progress" in path.read_text(encoding="utf-8")
    }
    routing = runtime()["plugin_routing"]["modules"]
    assert {name: route["action_plugin"] for name, route in routing.items()} == dict.fromkeys(
        with_progress, ROUTED_TO
    )
