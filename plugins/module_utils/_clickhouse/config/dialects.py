# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How versions of ClickHouse differ in the files that they read, and in how they merge files.

This module does not know the version of a server. An edit therefore has to have its effect in every version
that may read the configuration.
"""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import NamedTuple

ROOTS = ("yandex", "clickhouse")
_XML = (".xml", ".conf")
_YAML = (".yaml", ".yml")
MERGED_SUFFIXES = (*_XML, *_YAML)
"""Suffixes of the files that some version merges, in lower case."""


class Dialect(NamedTuple):
    """One way to merge files.

    versions: the versions, for messages.
    only_yandex: whether <include_from> and substitutions are found below <yandex> only, drop-ins with any
        root are merged, <include> has no meaning, and YAML and suffixes in upper case are ignored.
    skips_other_roots: whether a config.xml with a root of its own ignores drop-ins with another root.
        Versions without this do not start.
    merges_attributes: whether the attributes of the later file count, and its content replaces a reference of
        the earlier file.
    """

    versions: str
    only_yandex: bool = False
    skips_other_roots: bool = False
    merges_attributes: bool = False

    def reads(self, path: str) -> bool:
        """Whether a file with this path in config.d is merged."""
        suffix = PurePosixPath(path).suffix
        return suffix in _XML if self.only_yandex else suffix.lower() in MERGED_SUFFIXES

    def may_load(self, path: str, root: str) -> bool:
        """Whether a configuration is for these versions, by the path and the root of config.xml."""
        return not self.only_yandex or (root != ROOTS[1] and not is_yaml(path))


OLDEST = Dialect("versions such as 18.16", only_yandex=True)
MIDDLE = Dialect("versions before 24")
NEWEST = Dialect("versions since 24", skips_other_roots=True, merges_attributes=True)
DIALECTS = (OLDEST, MIDDLE, NEWEST)


def is_yaml(path: str) -> bool:
    """Whether servers read the file as YAML."""
    return PurePosixPath(path).suffix.lower() in _YAML


def are_equal_roots(first: str, second: str) -> bool:
    """Whether servers that compare roots merge a file with one root into a file with the other."""
    return first == second or (first in ROOTS and second in ROOTS)
