# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The Python packages that the job needs. Loads without any of them."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec

from olap_partmove._partmove.errors import PartMoveError

WORKER_PACKAGES = ("pyarrow", "pandas", "kazoo", "yaml")
"""What the Python of a worker needs, as it is imported; Spark brings pyspark along."""
DRIVER_PACKAGES = ("pyspark", "py4j", *WORKER_PACKAGES)
"""What the Python of the driver needs."""


def missing_packages(names: Sequence[str]) -> list[str]:
    """Those of the packages that this Python does not have."""
    return [name for name in names if not _is_installed(name)]


def _is_installed(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ImportError:
        return False


def missing_packages_error(python: str, names: Sequence[str]) -> PartMoveError:
    """What is said of a Python that does not have these packages."""
    packages = "package" if len(names) == 1 else "packages"
    return PartMoveError(
        f"{python} has no Python {packages} {', '.join(names)}",
        remedy="Install pyspark, pyarrow, pandas, kazoo and PyYAML for it, or name a Python that has them, in"
        " the role as partition_classify_python",
    )
