# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Makes the build context of the execution environment, and the bill of materials of its Python packages.

``python tests/bill.py``, after `make build`. The definition is the one in docs/spark.md. Nothing here builds
the image, which needs a container engine: ``ansible-builder build`` in build/ee does.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "build" / "dist"
FOLDER = ROOT / "build" / "ee"
BILL = DIST / "execution-environment.cdx.json"
_CHECKS = ROOT / "build" / "checks" / "bin"
_DEFINITION = re.compile(r"```yaml\n# execution-environment.yml\n(.*?)```", re.DOTALL)


def definition() -> str:
    """Return the definition that docs/spark.md shows to users."""
    (text,) = _DEFINITION.findall((ROOT / "docs" / "spark.md").read_text(encoding="utf-8"))
    return f"---\n{text}"


def packages(text: str) -> list[str]:
    """Return what pip installs besides the needs of the collection, from a definition."""
    needed = yaml.safe_load(text)["dependencies"]
    return [needed[name]["package_pip"] for name in ("ansible_core", "ansible_runner")]


def main() -> None:
    """Make both, in build/ee and build/dist. A step that fails ends the program with its status."""
    text = definition()
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    (FOLDER / "execution-environment.yml").write_text(text, encoding="utf-8")
    for archive in DIST.glob("olap-partmove-*.tar.gz"):
        shutil.copy(archive, FOLDER)
    _run(str(_CHECKS / "ansible-builder"), "create")
    _run(sys.executable, "-m", "venv", "venv")
    install = ("install", "--quiet", "--disable-pip-version-check", "--no-compile")
    _run("venv/bin/pip", *install, *packages(text), "-r", str(ROOT / "meta" / "ee-requirements.txt"))
    _run("venv/bin/pip", "check")
    made = ("environment", "--output-reproducible", "--output-format", "JSON", "--output-file", str(BILL))
    _run(str(_CHECKS / "cyclonedx-py"), *made, "venv/bin/python")
    print(f"{FOLDER}/context: the build context")
    print(f"{BILL}: {len(json.loads(BILL.read_text(encoding='utf-8'))['components'])} packages")


def _run(*command: str) -> None:
    done = subprocess.run(command, cwd=FOLDER, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"bill: {' '.join(command)} failed:\n{done.stdout}{done.stderr}")


if __name__ == "__main__":
    main()
