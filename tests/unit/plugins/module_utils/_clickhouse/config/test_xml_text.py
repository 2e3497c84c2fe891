# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Encodings of files: each is read as UTF-8 and written back as it was."""

from __future__ import annotations

import codecs

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.config.xml_text import (
    Encoding,
    decode,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import FormatError
from support.files.configs import ENCODED, WRITTEN, written

WORDS = "<a>ü</a>"


@pytest.mark.parametrize("encoded", ENCODED)
@pytest.mark.parametrize("name", WRITTEN)
def test_every_file_is_written_back_byte_for_byte(name: str, encoded: str) -> None:
    data = ENCODED[encoded](written(name))
    text, encoding = decode(data, "f")
    assert encoding.encode(text) == data


@pytest.mark.parametrize(
    ("data", "encoding"),
    [
        (WORDS.encode(), Encoding(b"", "utf-8")),
        (codecs.BOM_UTF8 + WORDS.encode(), Encoding(codecs.BOM_UTF8, "utf-8")),
        (codecs.BOM_UTF16_LE + WORDS.encode("utf-16-le"), Encoding(codecs.BOM_UTF16_LE, "utf-16-le")),
        (codecs.BOM_UTF16_BE + WORDS.encode("utf-16-be"), Encoding(codecs.BOM_UTF16_BE, "utf-16-be")),
        (WORDS.encode("utf-16-le"), Encoding(b"", "utf-16-le")),
        (WORDS.encode("utf-16-be"), Encoding(b"", "utf-16-be")),
    ],
)
def test_the_encoding_follows_from_a_mark_or_the_first_bytes(data: bytes, encoding: Encoding) -> None:
    assert decode(data, "f") == (WORDS.encode(), encoding)


@pytest.mark.parametrize(("name", "codec"), [("ISO-8859-1", "iso8859-1"), ("windows-1252", "cp1252")])
def test_else_the_declaration_has_the_encoding(name: str, codec: str) -> None:
    text = f"<?xml version='1.0' encoding='{name}'?>{WORDS}"
    assert decode(text.encode("latin-1"), "f") == (text.encode(), Encoding(b"", codec))


def test_characters_that_the_codec_lacks_become_references() -> None:
    assert Encoding(b"", "ascii").encode("<a>ü</a>".encode()) == b"<a>&#252;</a>"
    assert Encoding(codecs.BOM_UTF8, "utf-8").encode("ü".encode()) == codecs.BOM_UTF8 + "ü".encode()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"<?xml version='1.0' encoding='KOI8-R'?><a/>", "f is declared to be in the encoding KOI8-R"),
        (b"<?xml version='1.0' encoding='UTF-16'?><a/>", "f is declared to be in the encoding UTF-16"),
        (codecs.BOM_UTF32_LE, "f is declared to be in the encoding UTF-32"),
        (codecs.BOM_UTF32_BE, "f is declared to be in the encoding UTF-32"),
        (b"\xff\xff", "f has bytes that are not utf-8"),
        (codecs.BOM_UTF16_LE + b"<", "f has bytes that are not utf-16-le"),
        (b"<?xml encoding='US-ASCII'?>\xc3\xbc", "f has bytes that are not ascii"),
    ],
)
def test_other_bytes_are_refused(data: bytes, message: str) -> None:
    with pytest.raises(FormatError) as refusal:
        decode(data, "f")
    assert refusal.value.message.startswith(message)
    assert refusal.value.remedy
