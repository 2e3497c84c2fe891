# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Versions of files while they are edited."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.config.draft import Draft, FileEdit
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.config.files import Config
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.config.xml_document import XmlFile
from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import FormatError
from support.files.configs import MAIN, MemoryConfig

YAML = "/etc/clickhouse-server/config.d/a.yaml"
TEXT = b"<yandex><a/><b/><a>2</a></yandex>"


@pytest.fixture
def draft() -> Draft:
    return Draft(Config(MemoryConfig({MAIN: TEXT, YAML: b"a: 1"})))


def main(draft: Draft) -> XmlFile:
    return draft.editable(draft.before.main)


def test_several_edits_of_a_file_are_one(draft: Draft) -> None:
    for line in (b"<c/>", b"<d/>"):
        now = main(draft)
        draft.put(now, now.insertion([line], now.root), line[1:2].decode())
    assert draft.edits() == (FileEdit(MAIN, TEXT, b"<yandex><a/><b/><a>2</a>\n    <c/>\n    <d/></yandex>"),)
    assert [len(draft.config().occurrences(tag)) for tag in "acd"] == [3, 1, 1]
    assert draft.before.occurrences("c") == []


def test_an_edit_without_a_change_is_no_edit(draft: Draft) -> None:
    draft.put(main(draft), [], "a")
    assert draft.edits() == ()


def test_namesakes_are_removed_from_last_to_first_and_once_each(draft: Draft) -> None:
    first, last, _yaml = draft.before.occurrences("a")
    for occurrence in (last, last, first):
        draft.remove(occurrence)
    assert draft.edits() == (FileEdit(MAIN, TEXT, b"<yandex><b/></yandex>"),)


def test_created_and_deleted_files(draft: Draft) -> None:
    new = XmlFile("/etc/clickhouse-server/config.d/n.xml", b"<yandex/>", exists=False)
    draft.put(new, new.insertion([b"<n/>"], new.root), "n")
    draft.delete(main(draft))
    created, removed = draft.edits()
    assert (created.path, created.before, created.after is None) == (new.path, None, False)
    assert removed == FileEdit(MAIN, TEXT, None)


def test_yaml_is_not_edited(draft: Draft) -> None:
    with pytest.raises(FormatError, match=f"^{YAML} is YAML, which is read here and not edited"):
        draft.remove(draft.before.occurrences("a")[2])
