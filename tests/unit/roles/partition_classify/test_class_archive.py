# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The archive of classes: where it is, when it is made and used, and that nobody waits for it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import build_package
from class_archive import AUTO, CHOICE, archive_for

BACKGROUND = build_package.HERE / "background.py"
# The result comes first, as from a job, and the archive when the test allows it.
SUBMIT = """#!/bin/sh
echo "$SPARK_SUBMIT_OPTS" >> "$FOLDER/options"
echo '{{"plan": "p"}}'
for option in $SPARK_SUBMIT_OPTS; do
    case $option in -XX:ArchiveClassesAtExit=*)
        while [ ! -e "$FOLDER/go" ]; do sleep 0.1; done
        echo classes > "${{option#*=}}" ;;
    esac
done
exit {status}
"""


class Host:
    """A user with a cache, a Java, and a spark-submit that ends with the status."""

    def __init__(self, folder: Path, status: int = 0) -> None:
        self.folder = folder
        self.cache = folder / "cache" / "olap.partmove"
        self.java = self.program("java", "#!/bin/sh\n")
        self.submit = self.program("spark-submit", SUBMIT.format(status=status))
        self.environment = {
            "PATH": f"{folder}:{os.environ['PATH']}",
            "XDG_CACHE_HOME": str(folder / "cache"),
            "FOLDER": str(folder),
            CHOICE: AUTO,
            "SPARK_SUBMIT_OPTS": "-Xgiven",
        }

    def program(self, name: str, text: str) -> Path:
        """Write a program."""
        path = self.folder / name
        path.write_text(text)
        path.chmod(0o755)
        return path

    def run(self, name: str) -> dict[str, Any]:
        """Run spark-submit in the background, and return what was told at its end."""
        command = [sys.executable, str(BACKGROUND), str(self.folder / name)]
        subprocess.run([*command, "start", str(self.submit)], env=self.environment, check=True)
        done = subprocess.run([*command, "follow", "0"], capture_output=True, check=True)
        told: dict[str, Any] = json.loads(done.stdout)
        return told

    def archives(self, wanted: int) -> list[Path]:
        """Return the files in the cache, as soon as that many of them are complete."""
        deadline = time.monotonic() + 30
        while True:
            found = sorted(self.cache.glob("*")) if self.cache.exists() else []
            whole = [each for each in found if each.suffix == ".jsa"]
            if len(whole) == len(found) == wanted or time.monotonic() > deadline:
                return whole
            time.sleep(0.05)

    def let_java_end(self) -> None:
        """Let Java write archives, now and later."""
        (self.folder / "go").touch()

    def options(self) -> list[str]:
        """Return the options of each Java so far."""
        return (self.folder / "options").read_text().splitlines()


def test_result_comes_before_the_archive_and_the_second_run_uses_it(tmp_path: Path) -> None:
    host = Host(tmp_path)
    told = host.run("first")
    assert (told["status"], told["stdout"]) == (0, '{"plan": "p"}')
    assert host.archives(0) == []
    host.let_java_end()
    (archive,) = host.archives(1)
    assert archive.read_text() == "classes\n"
    assert host.cache.stat().st_mode & 0o777 == 0o700
    assert host.run("second")["status"] == 0
    first, second = host.options()
    assert first.startswith("-Xgiven -Xlog:disable -XX:ArchiveClassesAtExit=")
    assert second.endswith(f"-Xlog:all=warning:stderr -XX:SharedArchiveFile={archive}")


def test_another_java_has_another_archive_and_the_old_one_goes(tmp_path: Path) -> None:
    host = Host(tmp_path)
    host.let_java_end()
    host.run("first")
    (old,) = host.archives(1)
    host.program("java", "#!/bin/sh\n# upgraded\n")
    host.run("second")
    deadline = time.monotonic() + 30
    while old.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    (new,) = host.archives(1)
    assert new != old


def test_failed_program_leaves_no_archive(tmp_path: Path) -> None:
    host = Host(tmp_path, status=3)
    host.submit.write_text(host.submit.read_text().replace("echo '{", "true '{"))
    host.let_java_end()
    assert host.run("first")["status"] == 3
    time.sleep(0.5)
    assert list(host.cache.iterdir()) == []


def test_path_of_the_user_is_used(tmp_path: Path) -> None:
    host = Host(tmp_path)
    host.environment[CHOICE] = str(tmp_path / "own.jsa")
    archive = archive_for([str(host.submit)], host.environment)
    assert archive is not None
    assert archive.path == tmp_path / "own.jsa"
    assert not host.cache.exists()


@pytest.mark.parametrize("name", ["-XX:SharedArchiveFile=/a", "-XX:ArchiveClassesAtExit=/a"])
def test_none_beside_another_archive(tmp_path: Path, name: str) -> None:
    host = Host(tmp_path)
    option = f"--conf=spark.driver.extraJavaOptions=-Xshare:auto {name}"
    assert archive_for([str(host.submit), option], host.environment) is None


def test_archive_of_executors_is_another_matter(tmp_path: Path) -> None:
    host = Host(tmp_path)
    option = "--conf=spark.executor.extraJavaOptions=-XX:SharedArchiveFile=/a"
    assert archive_for([str(host.submit), option], host.environment) is not None


def test_none_if_others_could_write_it_or_none_is_asked_for_or_possible(tmp_path: Path) -> None:
    host = Host(tmp_path)
    program = [str(host.submit)]
    assert archive_for(program, host.environment) is not None
    assert archive_for(program, host.environment | {CHOICE: ""}) is None
    assert archive_for(program, host.environment | {CHOICE: str(tmp_path / "none" / "a.jsa")}) is None
    assert archive_for(program, host.environment | {"XDG_CACHE_HOME": "relative"}) is None
    assert archive_for(["/none/spark-submit"], host.environment) is None
    assert archive_for(program, host.environment | {"JAVA_HOME": str(tmp_path / "none")}) is None
    host.cache.chmod(0o770)
    assert archive_for(program, host.environment) is None
