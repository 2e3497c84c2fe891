# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The task of clickhouse_config: edit an ensemble in the configuration of a ClickHouse server."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .._clickhouse.config.diff import mask_edit
from .._clickhouse.config.draft import FileEdit
from .._clickhouse.config.edit import (
    ConfigChange,
    Style,
    ensure_absent,
    ensure_present,
)
from .._clickhouse.config.files import Config
from .._clickhouse.config.local_files import ConfigFiles, check_replaceable, hard_links, replace_files
from .._clickhouse.config.names import AUXILIARY_ELEMENT, DEFAULT_SUBSTITUTIONS
from .._clickhouse.config.xml_document import LXML_IMPORT_ERROR
from .._clickhouse.config.zookeeper_element import SETTINGS, ElementContent
from .._partmove.errors import PartMoveError
from .._zookeeper.handshake import MemberAddress, check_members
from .resources import Resources

_ENSEMBLE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_NAME_OF_HOT = "default"


class ClickHouseConfig:
    """Implements Task for clickhouse_config."""

    failure = ""

    def __init__(self, params: Mapping[str, Any]) -> None:
        """Read the options of the module. Raises PartMoveError for invalid values."""
        self._params = params
        tag: str = params["element"]
        self._element = place_of(tag, params["name"] or "")
        self._content = ElementContent.of(params) if params["state"] == "present" else None
        name = params["substitution"] or DEFAULT_SUBSTITUTIONS[tag]
        self._tag = tag
        self._style = Style(
            params["style"], name, params["drop_in"] or f"{self._element.replace('/', '_')}.xml"
        )
        self._change: ConfigChange | None = None
        self._backups: list[str] = []
        self._modified = 0.0
        self._warnings: list[str] = []

    def result(self) -> dict[str, Any]:
        """Return the configured ensemble and the changed files."""
        change = self._change
        if change is None:
            return {"changed": False}
        substitution = change.substitution or self._style.substitution
        versions = [mask_edit(edit, self._tag, substitution) for edit in change.edits]
        return {
            "changed": bool(change.edits),
            "element": self._tag,
            "name": self._params["name"] or "",
            "state": self._params["state"],
            "style": change.style,
            "config_path": change.path,
            "substitution": change.substitution,
            "substitutions_path": change.substitutions_path,
            "nodes": [f"{node.host}:{node.port}" for node in change.nodes],
            "files": [{"path": edit.path, "action": _action(edit)} for edit in change.edits],
            "backup_files": self._backups,
            "modified": self._modified,
            "diff": [
                {
                    "before_header": each.header,
                    "after_header": each.header,
                    "before": each.before,
                    "after": each.after,
                }
                for each in versions
            ],
            **({"warnings": self._warnings} if self._warnings else {}),
        }

    def run(self, resources: Resources) -> None:
        """Read and edit the configuration; write the files except in check mode."""
        require_lxml()
        files = ConfigFiles(str(Path(self._params["path"]).absolute()))
        change = self._edit(files)
        check_replaceable(change.edits)
        if self._content is not None and self._params["check_members"]:
            self._check_members(self._content, files)
        self._warnings = [*change.unknown, *hard_links(change.edits)]
        if not resources.check_mode:
            self._backups = replace_files(change.edits, files.main, backup=self._params["backup"])
        self._change = change
        self._modified = files.modified(_paths_of_element(change) or [*change.read, *files.drop_in_folders()])

    def _edit(self, files: ConfigFiles) -> ConfigChange:
        if self._content is None:
            return ensure_absent(files, self._element, self._style)
        return ensure_present(files, self._element, self._content, self._style)

    def _check_members(self, content: ElementContent, files: ConfigFiles) -> None:
        # A setting without an option keeps the value that it has now.
        settings = {**self._current_settings(files), **content.settings}
        members = [MemberAddress(node.host, int(node.port), secure=node.secure) for node in content.nodes]
        root = settings.get("root", "").rstrip("/")
        check_members(members, root, self._params["member_timeout"], settings.get("identity", ""))

    def _current_settings(self, files: ConfigFiles) -> dict[str, str]:
        """Return the settings of the element before the change, as far as its files show them."""
        sections = Config(files).sections(self._element)[:1]
        return {
            name: section.child_text(name)
            for section in sections
            for name in SETTINGS
            if not any(section.problems_of(name))
        }


def place_of(element: str, name: str) -> str:
    """Return the place of the element below the root. Raises PartMoveError for an invalid name."""
    if element != AUXILIARY_ELEMENT:
        if not name:
            return element
        raise PartMoveError(
            f"name is {name!r}, and <{element}> has no name",
            remedy=f"Leave name out, or give element as {AUXILIARY_ELEMENT}",
        )
    if not _ENSEMBLE_NAME.fullmatch(name) or name == _NAME_OF_HOT:
        raise PartMoveError(
            f"name is {name!r}, which is not a valid name of an auxiliary ensemble",
            remedy="Use letters, digits, '_' and '-', a letter first; default is the ensemble of <zookeeper>",
        )
    return f"{element}/{name}"


def _paths_of_element(change: ConfigChange) -> list[str]:
    """Return the files that contain the element."""
    return [path for path in (change.path, change.substitutions_path) if path]


def _action(edit: FileEdit) -> str:
    if edit.before is None:
        return "created"
    return "changed" if edit.after is not None else "removed"


def require_lxml() -> None:
    if LXML_IMPORT_ERROR is not None:
        raise PartMoveError(
            f"{sys.executable} lacks the Python package lxml ({LXML_IMPORT_ERROR})",
            remedy="Run `apt-get install python3-lxml` or `pip install lxml` on this host",
        )
