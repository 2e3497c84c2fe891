# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Decodes and encodes the bytes of an XML file, with its encoding and its byte order mark."""

from __future__ import annotations

import codecs
import re
from typing import NamedTuple

from ..._partmove.errors import FormatError

# The encodings that the XML parser of ClickHouse reads → Python's names for them.
_CODECS = {
    **dict.fromkeys(("UTF-8", "UTF8"), "utf-8"),
    "UTF-16": "utf-16",
    **dict.fromkeys(("US-ASCII", "ASCII"), "ascii"),
    **dict.fromkeys(("ISO-8859-1", "LATIN1", "LATIN-1"), "iso8859-1"),
    **dict.fromkeys(("ISO-8859-2", "LATIN2", "LATIN-2"), "iso8859-2"),
    **dict.fromkeys(("ISO-8859-15", "LATIN9", "LATIN-9"), "iso8859-15"),
    **dict.fromkeys(("WINDOWS-1250", "CP1250"), "cp1250"),
    **dict.fromkeys(("WINDOWS-1251", "CP1251"), "cp1251"),
    **dict.fromkeys(("WINDOWS-1252", "CP1252"), "cp1252"),
}
# Byte order marks. The longer ones come first: the mark of UTF-32 begins with that of UTF-16.
_MARKS = (
    (codecs.BOM_UTF32_LE, ""),
    (codecs.BOM_UTF32_BE, ""),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
    ("<".encode("utf-16-le"), "utf-16-le"),
    ("<".encode("utf-16-be"), "utf-16-be"),
)
_DECLARED = re.compile(rb"""<\?xml\s[^>]*?\bencoding\s*=\s*["']([A-Za-z][\w.-]*)["']""")


class Encoding(NamedTuple):
    """Encoding of a file: its byte order mark, if any, and Python's name of the codec."""

    mark: bytes
    codec: str

    def encode(self, utf8: bytes) -> bytes:
        """Encode the text. Characters that the codec lacks become character references."""
        return self.mark + utf8.decode().encode(self.codec, "xmlcharrefreplace")


def decode(data: bytes, path: str) -> tuple[bytes, Encoding]:
    """Return the text in UTF-8 without byte order mark, and the encoding that restores the bytes.

    Raises FormatError if the encoding is unknown, or if the bytes do not fit the encoding.
    """
    encoding = _encoding_of(data, path)
    try:
        utf8 = data[len(encoding.mark) :].decode(encoding.codec).encode()
    except UnicodeError as error:
        raise FormatError(
            f"{path} has bytes that are not {encoding.codec}, which is its encoding",
            remedy="Correct the encoding in its first line, or the bytes",
        ) from error
    if encoding.encode(utf8) != data:
        raise FormatError(
            f"{path} cannot be written back byte for byte in its encoding {encoding.codec}",
            remedy="Save it as UTF-8",
        )
    return utf8, encoding


def _encoding_of(data: bytes, path: str) -> Encoding:
    for start, codec in _MARKS:
        if data.startswith(start):
            if not codec:
                raise _unknown(path, "UTF-32")
            return Encoding(b"" if start.strip(b"\x00") == b"<" else start, codec)
    declared = _DECLARED.match(data)
    name = declared[1].decode() if declared else "UTF-8"
    codec = _CODECS.get(name.upper(), "")
    # Without a mark and without the zero bytes checked above, the file cannot be UTF-16.
    if codec in ("", "utf-16"):
        raise _unknown(path, name)
    return Encoding(b"", codec)


def _unknown(path: str, name: str) -> FormatError:
    return FormatError(
        f"{path} is declared to be in the encoding {name}, which this collection cannot read",
        remedy="Save it as UTF-8",
    )
