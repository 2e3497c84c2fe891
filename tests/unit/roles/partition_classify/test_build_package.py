# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The zip that goes to the executors."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from build_package import HERE, MODULE_UTILS, build

MODULES = (
    "olap_partmove._clickhouse.usage",
    "olap_partmove._zookeeper.store",
    "olap_partmove._partmove.plan.file",
    "partition_classify.job",
    "partition_classify.sources.live",
    "partition_classify.sources.snapshot",
)


@pytest.fixture
def package(tmp_path: Path) -> Path:
    path = tmp_path / "package.zip"
    build(path)
    return path


def test_same_files_give_the_same_bytes(package: Path, tmp_path: Path) -> None:
    again = tmp_path / "again.zip"
    build(again, module_utils=shutil.copytree(MODULE_UTILS, tmp_path / "copy", copy_function=shutil.copyfile))
    assert again.read_bytes() == package.read_bytes()


def test_zip_has_the_complete_packages_only(package: Path) -> None:
    names = zipfile.ZipFile(package).namelist()
    assert names == sorted(set(names))
    assert {name.rpartition(".")[2] for name in names} == {"py", "css", "j2", "js"}
    roots = {
        f"olap_partmove/{each}": MODULE_UTILS / each for each in ("_clickhouse", "_partmove", "_zookeeper")
    }
    roots["partition_classify"] = HERE / "partition_classify"
    expected = {"olap_partmove/__init__.py"}
    for name, root in roots.items():
        files = [
            path.relative_to(root) for path in root.rglob("*") if path.suffix in (".py", ".css", ".j2", ".js")
        ]
        expected |= {f"{name}/{path}" for path in files}
        expected |= {f"{name}/{path.parent / '__init__.py'}" for path in files}
    assert set(names) == expected


def test_modules_import_from_the_zip_alone(package: Path, tmp_path: Path) -> None:
    program = f"import {', '.join(MODULES)}; print(partition_classify.job.__file__)"
    found = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | {"PYTHONPATH": str(package)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout.startswith(str(package))


def test_package_and_programs_go_to_a_host_as_one_file(package: Path, tmp_path: Path) -> None:
    target, unpacked = tmp_path / "job.zip", tmp_path / "unpacked"
    program = [sys.executable, str(HERE / "build_package.py"), "--with-programs", str(target)]
    subprocess.run(program, check=True)
    subprocess.run([sys.executable, "-m", "zipfile", "-e", str(target), str(unpacked)], check=True)
    programs = (
        *(
            "background.py",
            "census.py",
            "class_archive.py",
            "classify.py",
            "fetch.py",
            "packaged.py",
            "registrations.py",
        ),
        "log4j2.properties",
    )
    assert {each.name: each.read_bytes() for each in unpacked.iterdir()} == {
        "partition_classify.zip": package.read_bytes(),
        **{name: (HERE / name).read_bytes() for name in programs},
    }


def test_missing_collection_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=str(tmp_path)):
        build(tmp_path / "package.zip", module_utils=tmp_path)
