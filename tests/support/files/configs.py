# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Configurations of ClickHouse as people write them, in memory and in many encodings."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.config.edit import ConfigChange

FOLDER = Path(__file__).with_name("configs")
MAIN = "/etc/clickhouse-server/config.xml"
METRIKA = "/etc/metrika.xml"
CONFIG_D = "/etc/clickhouse-server/config.d"
WRITTEN = sorted(path.name for path in FOLDER.glob("*.xml"))
"""Names of files as they were found, or as they are often seen."""


@dataclass
class MemoryConfig:
    """Implements ConfigSource over a dictionary."""

    files: dict[str, bytes] = field(default_factory=dict)
    main: str = MAIN

    def drop_ins(self) -> list[str]:
        """All files of the two folders that some server merges."""
        return self._merged((".xml", ".conf", ".yaml", ".yml"))

    def read(self, path: str) -> bytes | None:
        """The bytes, if there is such a file."""
        return self.files.get(path)

    def after(self, change: ConfigChange) -> MemoryConfig:
        """The files once the edits are made."""
        files = dict(self.files)
        for edit in change.edits:
            assert files.get(edit.path) == edit.before
            if edit.after is None:
                del files[edit.path]
            else:
                files[edit.path] = edit.after
        return MemoryConfig(files, self.main)

    def _merged(self, endings: tuple[str, ...]) -> list[str]:
        folder = PurePosixPath(self.main).parent
        folders = (folder / "conf.d", folder / "config.d")
        paths = sorted(path for path in self.files if PurePosixPath(path).parent in folders)
        return [path for path in paths if path.lower().endswith(endings)]


def written(name: str) -> str:
    """The text of one of `WRITTEN`."""
    return (FOLDER / name).read_text(encoding="utf-8")


def _declared(text: str, encoding: str) -> str:
    """The text with the encoding in its declaration."""
    body = text.partition("?>")[2].lstrip("\n") if text.startswith("<?xml") else text
    return f'<?xml version="1.0" encoding="{encoding}"?>\n{body}'


def _with_words(text: str, words: str) -> str:
    """The text with a comment and an element in another language, right below the root."""
    root = "<yandex>" if "<yandex>" in text else "<clickhouse>"
    return text.replace(root, f"{root}\n    <!-- {words} -->\n    <display_name>{words}</display_name>", 1)


ENCODED: Mapping[str, Callable[[str], bytes]] = {
    "as written": lambda text: text.encode(),
    "CRLF": lambda text: text.replace("\n", "\r\n").encode(),
    "CR": lambda text: text.replace("\n", "\r").encode(),
    "no end of line": lambda text: text.rstrip("\n").encode(),
    "tabs": lambda text: text.replace("    ", "\t").encode(),
    "UTF-8 with a mark": lambda text: codecs.BOM_UTF8 + text.encode(),
    "UTF-8 words": lambda text: _with_words(text, "привет 你好 🙂").encode(),
    "UTF-16": lambda text: _declared(_with_words(text, "你好 🙂"), "UTF-16").encode("utf-16"),
    "UTF-16 big end first": lambda text: codecs.BOM_UTF16_BE + _declared(text, "UTF-16").encode("utf-16-be"),
    "UTF-16 without a mark": lambda text: _declared(text, "utf-16").encode("utf-16-le"),
    "Latin-1": lambda text: _declared(_with_words(text, "Größe ÿ"), "ISO-8859-1").encode("latin-1"),
    "Latin-9": lambda text: _declared(_with_words(text, "€ œuvre"), "iso-8859-15").encode("iso8859-15"),
    "Cyrillic": lambda text: _declared(_with_words(text, "привет"), "windows-1251").encode("cp1251"),
    "ASCII": lambda text: _declared(text, "US-ASCII").encode("ascii"),
}
"""How the same text is written to a file."""
