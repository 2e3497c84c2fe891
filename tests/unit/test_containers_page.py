# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The examples of the page about containers are what their readers take them for."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml
from lxml import etree

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "operate" / "containers.md").read_text(encoding="utf-8")
BLOCKS: list[dict[str, Any]] = [
    yaml.safe_load(text) for text in re.findall(r"```yaml\n(.*?)```", PAGE, flags=re.DOTALL)
]


def of_kind(kind: str) -> dict[str, Any]:
    (found,) = (each for each in BLOCKS if each.get("kind") == kind)
    return found


def test_the_installation_has_an_auxiliary_ensemble_that_differs_from_the_hot_one() -> None:
    configuration = of_kind("ClickHouseInstallation")["spec"]["configuration"]
    ((name, text),) = configuration["files"].items()
    # The operator restarts pods for other files of this folder.
    assert re.fullmatch(r"config\.d/.*no_restart.*\.xml", name)
    root = etree.fromstring(text)
    hosts = [each.text for each in root.findall("auxiliary_zookeepers/cold/node/host")]
    assert root.tag == "clickhouse"
    assert len(hosts) == 3
    assert not {node["host"] for node in configuration["zookeeper"]["nodes"]} & {*hosts}


def test_the_job_runs_a_playbook_of_the_collection_once_at_a_time() -> None:
    spec = of_kind("CronJob")["spec"]
    pod = spec["jobTemplate"]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    name = container["command"][1].removeprefix("olap.partmove.")
    assert (ROOT / "playbooks" / f"{name}.yml").is_file()
    assert spec["concurrencyPolicy"] == "Forbid"
    mounts = {each["name"] for each in container["volumeMounts"]}
    assert mounts == {each["name"] for each in pod["volumes"]}


def test_the_service_mounts_a_folder() -> None:
    (service,) = next(each for each in BLOCKS if "services" in each)["services"].values()
    assert [each.split(":")[0].endswith(".d") for each in service["volumes"]] == [True]
