# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Packs the job into a zip for ``spark-submit --py-files``.

The zip contains two packages: ``partition_classify``, the folder beside this file, and ``olap_partmove`` with
the collection's ``_clickhouse``, ``_partmove`` and ``_zookeeper``. Builds are reproducible: no compression,
sorted entries, one fixed time.

``--with-programs`` packs this zip and the programs into one more zip: a single file to copy to a host and
unpack with ``python3 -m zipfile -e``.
"""

from __future__ import annotations

import argparse
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

HERE = Path(__file__).resolve().parent
MODULE_UTILS = HERE.parents[2] / "plugins" / "module_utils"
_TIME = (1980, 1, 1, 0, 0, 0)
_MODE = 0o644 << 16
_PACKED = (".py", ".css", ".j2", ".js")
_PACKAGE = "partition_classify.zip"
_PROGRAMS = (
    *("background.py", "census.py", "class_archive.py", "classify.py", "fetch.py", "packaged.py"),
    "registrations.py",
    "log4j2.properties",
)


def build(target: Path, *, module_utils: Path = MODULE_UTILS) -> None:
    """Write the zip to ``target``. Raises OSError when files of the collection are missing."""
    roots = {
        "olap_partmove/_clickhouse": module_utils / "_clickhouse",
        "olap_partmove/_partmove": module_utils / "_partmove",
        "olap_partmove/_zookeeper": module_utils / "_zookeeper",
        "partition_classify": HERE / "partition_classify",
    }
    files = {"olap_partmove/__init__.py": b""}
    for name, root in roots.items():
        files |= _package(name, root)
    _write(target, files)


def build_with_programs(target: Path) -> None:
    """Write a zip of the package, the programs and their log settings to ``target``."""
    with tempfile.TemporaryDirectory(prefix="partition_classify.") as folder:
        package = Path(folder, _PACKAGE)
        build(package)
        _write(target, {each.name: each.read_bytes() for each in (package, *map(HERE.joinpath, _PROGRAMS))})


def _write(target: Path, files: Mapping[str, bytes]) -> None:
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as package:
        for name, content in sorted(files.items()):
            entry = zipfile.ZipInfo(name, _TIME)
            entry.external_attr = _MODE
            package.writestr(entry, content)


def _package(name: str, root: Path) -> dict[str, bytes]:
    """Return modules, styles, templates and scripts of a package: bytes by name in the zip."""
    sources = [path for path in sorted(root.rglob("*")) if path.suffix in _PACKED]
    if not sources:
        raise FileNotFoundError(f"there are no Python modules in {root}")
    # zipimport requires __init__.py in every package.
    packages = {f"{name}/{path.parent.relative_to(root) / '__init__.py'}": b"" for path in sources}
    return packages | {f"{name}/{path.relative_to(root)}": path.read_bytes() for path in sources}


def main() -> None:
    """Build the zip at the path on the command line."""
    parser = argparse.ArgumentParser(description="Build the package of the classification job.")
    parser.add_argument("target", type=Path, help="path of the zip to write")
    parser.add_argument("--with-programs", action="store_true", help="include the programs")
    arguments = parser.parse_args()
    (build_with_programs if arguments.with_programs else build)(arguments.target)


if __name__ == "__main__":
    main()
