# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Imports every module of the Spark job with the Python that runs this, and parses a command line.

Spark and its packages need not be there: names of them stand for nothing. The folders of the job and of the
domain are in PYTHONPATH.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

_ABSENT = ("jinja2", "kazoo", "markupsafe", "pandas", "py4j", "pyarrow", "pyspark", "yaml")
_COMMAND = "--policy=p --connections=c --root=/ --plan=plan --as-of=2026-11-20T22:15:00Z"


class _AnyClass(type):
    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Anything


class _Anything(Exception, metaclass=_AnyClass):
    """A class that may be called, raised and inherited from."""

    def __init__(self, *_arguments: Any, **_options: Any) -> None:
        super().__init__()

    def __call__(self, *_arguments: Any, **_options: Any) -> _Anything:
        return self

    def __getattr__(self, name: str) -> _Anything:
        if name.startswith("__"):
            raise AttributeError(name)
        return self


class _StandIn(ModuleType):
    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.__path__ = []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Anything


class _StandIns(MetaPathFinder, Loader):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        return ModuleSpec(fullname, self) if fullname.partition(".")[0] in _ABSENT else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _StandIn(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        pass


def main() -> None:
    """Print how many modules were imported. Raises what an import raises."""
    sys.meta_path.insert(0, _StandIns())
    package = importlib.import_module("partition_classify")
    names = [each.name for each in pkgutil.walk_packages(package.__path__, "partition_classify.")]
    for name in names:
        importlib.import_module(name)
    arguments = importlib.import_module("partition_classify.arguments").parser().parse_args(_COMMAND.split())
    due = importlib.import_module("partition_classify.report.page")._due("1970-01-01T00:00:00.000Z", 1)
    print(len(names), arguments.as_of, due)


if __name__ == "__main__":
    main()
