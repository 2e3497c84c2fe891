# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Packs what the job needs on every executor into one zip for ``spark-submit --py-files``.

The zip holds two packages: ``partition_classify``, which lies beside this file, and ``olap_partmove``
with the collection's ``clickhouse``, ``partmove`` and ``zookeeper`` inside. The same files give the same
bytes: no compression, entries in the order of their names, one fixed time.
"""

from __future__ import annotations

import argparse
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
MODULE_UTILS = HERE.parents[2] / "plugins" / "module_utils"
_TIME = (1980, 1, 1, 0, 0, 0)
_MODE = 0o644 << 16


def build(target: Path, *, module_utils: Path = MODULE_UTILS) -> None:
    """Write the zip to ``target``. Raises OSError when the files of the collection are not there."""
    packages = {
        "olap_partmove/clickhouse": module_utils / "clickhouse",
        "olap_partmove/partmove": module_utils / "partmove",
        "olap_partmove/zookeeper": module_utils / "zookeeper",
        "partition_classify": HERE / "partition_classify",
        "partition_classify/zookeeper_files": HERE / "partition_classify" / "zookeeper_files",
    }
    files = {"olap_partmove/__init__.py": b""}
    for name, folder in packages.items():
        # Python takes a folder of a zip for a package only with this file in it.
        files[f"{name}/__init__.py"] = b""
        files |= {f"{name}/{path.name}": path.read_bytes() for path in _modules(folder)}
        files |= {f"{name}/{path.name}": path.read_bytes() for path in folder.glob("*.j2")}
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as package:
        for name, content in sorted(files.items()):
            entry = zipfile.ZipInfo(name, _TIME)
            entry.external_attr = _MODE
            package.writestr(entry, content)


def _modules(folder: Path) -> list[Path]:
    modules = sorted(folder.glob("*.py"))
    if not modules:
        raise FileNotFoundError(f"there are no Python modules in {folder}")
    return modules


def main() -> None:
    """Build the zip at the path given on the command line."""
    parser = argparse.ArgumentParser(description="Build the package of the classification job.")
    parser.add_argument("target", type=Path, help="path of the zip to write")
    build(parser.parse_args().target)


if __name__ == "__main__":
    main()
