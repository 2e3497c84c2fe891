# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A strict reader of the text format of Prometheus, as far as gauges go."""

from __future__ import annotations

import re

Labels = tuple[tuple[str, str], ...]

_NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
_LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(?:,(?=[a-zA-Z_])|$)')
_SAMPLE = re.compile(rf"({_NAME})(?:\{{(.*)\}})? (\S+)")
_HELP = re.compile(rf"# HELP ({_NAME}) ((?:[^\\\n]|\\[\\n])*)")
_TYPE = re.compile(rf"# TYPE ({_NAME}) gauge")


def parsed(text: str) -> dict[str, dict[Labels, float]]:
    """Name of the family → labels → figure; fails at anything that is not as the format has it.

    A family is told once, HELP first, then TYPE, then its figures, of which no two have the same labels.
    """
    assert text.endswith("\n")
    families: dict[str, dict[Labels, float]] = {}
    lines = iter(text.removesuffix("\n").split("\n"))
    name = ""
    for line in lines:
        if line.startswith("#"):
            name = _found(_HELP, line)[1]
            assert _found(_TYPE, next(lines))[1] == name
            assert name not in families
            families[name] = {}
        else:
            sample = _found(_SAMPLE, line)
            assert sample[1] == name
            labels = _labels(sample[2])
            assert labels not in families[name]
            families[name][labels] = float(sample[3])
    return families


def _found(pattern: re.Pattern[str], line: str) -> re.Match[str]:
    found = pattern.fullmatch(line)
    assert found is not None, line
    return found


def _labels(text: str | None) -> Labels:
    if text is None:
        return ()
    labels, at = [], 0
    while at < len(text):
        found = _LABEL.match(text, at)
        assert found is not None, text[at:]
        labels.append((found[1], re.sub(r"\\(.)", lambda each: {"n": "\n"}.get(each[1], each[1]), found[2])))
        at = found.end()
    assert labels, "no labels between the brackets"
    assert len({name for name, _value in labels}) == len(labels)
    return tuple(labels)
