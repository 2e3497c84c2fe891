# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The lines shown of an edit: those around it, with foreign texts hidden."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.config.diff import (
    MaskedEdit,
    mask_edit,
)
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.config.draft import FileEdit
from support.files.configs import ENCODED, MAIN

ELEMENT, SUBSTITUTION = "cold_zookeeper", "cold"
OURS = "<cold><node><host>c1</host></node><identity>a:b</identity><x>y</x></cold>"
SECRETS = """<yandex>
    <far/>
    <key_hex>hunter2</key_hex>
    <s3 access_key_id='hunter3' index="1"><static_key>hunter &amp; 4</static_key></s3>
    <!-- the password was hunter5
         and is hunter6 --><a><![CDATA[hunter7]]></a><?x hunter8?>
    {}
    <b>hunter9</b>
    <c/>
</yandex>
"""


def edit(before: str | None, after: str | None, encoded: str = "as written") -> MaskedEdit:
    encode = ENCODED[encoded]
    versions = [None if text is None else encode(text) for text in (before, after)]
    return mask_edit(FileEdit(MAIN, *versions), ELEMENT, SUBSTITUTION)


@pytest.mark.parametrize("encoded", ["as written", "CRLF", "CR", "UTF-16", "Latin-1"])
def test_foreign_texts_are_hidden(encoded: str) -> None:
    found = edit(SECRETS.format(""), SECRETS.format(OURS), encoded)
    assert "hunter" not in found.before + found.after
    assert found.after.splitlines()[-7:] == [
        "    <s3 access_key_id='(hidden)' index=\"1\"><static_key>(hidden)</static_key></s3>",
        "    <!-- (hidden)",
        "         (hidden) --><a>(hidden)</a>(hidden)",
        f"    {OURS.replace('a:b', '(hidden, changed)').replace('>y<', '>(hidden, changed)<')}",
        "    <b>(hidden)</b>",
        "    <c/>",
        "</yandex>",
    ]


def test_only_lines_around_the_edit_are_shown() -> None:
    lines = "".join(f"    <a{number}/>\n" for number in range(100))
    text = f"<yandex>\n{lines}    {{}}\n{lines}</yandex>\n"
    found = edit(text.format(OURS), text.format(OURS.replace("c1", "c2")))
    assert found.header == f"{MAIN} (from line 99)"
    assert [line.strip() for line in found.after.splitlines()] == [
        *("<a97/>", "<a98/>", "<a99/>"),
        "<cold><node><host>c2</host></node><identity>(hidden)</identity><x>(hidden)</x></cold>",
        *("<a0/>", "<a1/>", "<a2/>"),
    ]


def test_a_change_of_a_secret_is_visible() -> None:
    text = f"<yandex>{OURS}</yandex>"
    found = edit(text, text.replace("a:b", "a:c"))
    assert found.before == text.replace("a:b", "(hidden)").replace(">y<", ">(hidden)<")
    assert found.after == text.replace("a:b", "(hidden, changed)").replace(">y<", ">(hidden)<")


def test_a_file_that_is_new_or_removed_has_one_version() -> None:
    text = '<?xml version="1.0"?>\n<yandex>\n<cold><node><port>1</port></node></cold>\n</yandex>\n'
    assert edit(None, text) == (MAIN, "", text)
    assert edit(text, None) == (MAIN, text, "")


def test_our_own_comments_are_shown() -> None:
    marks = [f"<!-- {what} by olap.partmove.clickhouse_config -->" for what in ("Added", "Made")]
    text = f"{marks[1]}\n<yandex><cold>{marks[0]}<!-- x --></cold></yandex>"
    assert edit(None, text).after == text.replace(" x ", " (hidden, changed) ")
