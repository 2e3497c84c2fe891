# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The definition of the execution environment in the documentation is the one that `make bill` takes."""

from __future__ import annotations

from pathlib import Path

import yaml
from packaging.requirements import Requirement

from bill import definition, packages

ROOT = Path(__file__).resolve().parents[2]


def test_the_definition_has_the_archive_of_this_version_and_tested_releases_of_ansible_core() -> None:
    text = definition()
    version = yaml.safe_load((ROOT / "galaxy.yml").read_text())["version"]
    (collection,) = yaml.safe_load(text)["dependencies"]["galaxy"]["collections"]
    assert collection == {"name": f"archives/olap-partmove-{version}.tar.gz", "type": "file"}
    core, runner = map(Requirement, packages(text))
    assert (core.name, runner.name) == ("ansible-core", "ansible-runner")
    assert "2.21.9" in core.specifier
    assert "2.22.0" not in core.specifier
