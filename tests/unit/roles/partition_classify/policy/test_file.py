# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The policy file: meaning of its texts, and errors."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import pytest

from partition_classify.policy.file import (
    BUILT_IN,
    PolicySettings,
    Rule,
    duration_text,
    parse_policy,
    read_policy,
)
from partition_classify.policy.strict_yaml import PolicyError

HOUR = 3_600_000
DAY = 24 * HOUR


def test_omitted_keys_of_rules_come_from_the_defaults() -> None:
    text = b"""
version: 1
defaults: {cold_after: 2d, keep_newest: 3}
rules:
  - table: /ch/*/events
    cold_after: 36h
  - {table: /ch/**, keep_newest: 0}
"""
    policy = parse_policy(text, "policy.yml")
    assert policy.defaults == PolicySettings(2 * DAY, 3)
    assert policy.rules == (
        Rule("/ch/*/events", PolicySettings(36 * HOUR, 3)),
        Rule("/ch/**", PolicySettings(2 * DAY, 0)),
    )
    assert policy.digest == hashlib.sha256(text).hexdigest()


def test_default_is_cold_after_a_day() -> None:
    policy = parse_policy(b"version: 1\n", "policy.yml")
    assert policy.rules == ()
    assert policy.defaults == BUILT_IN == PolicySettings(cold_after_ms=DAY, keep_newest=0)


def test_omitted_pins_and_never_come_from_the_defaults() -> None:
    text = b"""
version: 1
defaults: {never: true, cold_after: 2d, pin_hot: ["all"]}
rules:
  - {table: /ch/a, never: false, pin_cold: ["201912", 2019-12]}
  - {table: /ch/b, never: false, pin_hot: []}
  - {table: /ch/c}
"""
    policy = parse_policy(text, "policy.yml")
    assert [rule.settings for rule in policy.rules] == [
        PolicySettings(2 * DAY, 0, pin_hot=("all",), pin_cold=("201912", "2019-12")),
        PolicySettings(2 * DAY, 0),
        PolicySettings(2 * DAY, 0, pin_hot=("all",), never=True),
    ]
    assert policy.defaults == policy.rules[2].settings


def test_default_reads_are_unlimited_within_seven_days() -> None:
    text = b"""
version: 1
defaults: {max_reads: 10, reads_within: 30d}
rules:
  - {table: /ch/a}
  - {table: /ch/b, max_reads: 0}
  - {table: /ch/c, max_reads: 3, reads_within: 36h}
  - {table: /ch/d, max_reads: any}
  - {table: /ch/e, never: true}
"""
    policy = parse_policy(text, "policy.yml")
    assert [(rule.settings.max_reads, rule.settings.reads_within_ms) for rule in policy.rules] == [
        (10, 30 * DAY),
        (0, 30 * DAY),
        (3, 36 * HOUR),
        (None, 30 * DAY),
        (10, 30 * DAY),
    ]
    assert (BUILT_IN.max_reads, BUILT_IN.reads_within_ms) == (None, 7 * DAY)


@pytest.mark.parametrize(
    ("text", "windows"),
    [
        ("", set()),
        ("defaults: {reads_within: 30d}", set()),
        ("defaults: {max_reads: 0}", {7 * DAY}),
        ("defaults: {max_reads: 1, never: true}", set()),
        (
            "rules: [{table: /a, max_reads: 1}, {table: /b, max_reads: 2, reads_within: 2d}]",
            {7 * DAY, 2 * DAY},
        ),
        ("defaults: {max_reads: 1}\nrules: [{table: /a, never: true}]", {7 * DAY}),
    ],
)
def test_read_windows_of_rules_with_a_limit(text: str, windows: set[int]) -> None:
    assert parse_policy(f"version: 1\n{text}".encode(), "policy.yml").read_windows == windows


@pytest.mark.parametrize(
    ("text", "milliseconds", "words"),
    [
        ("1s", 1000, "1 second"),
        ("90s", 90_000, "90 seconds"),
        ("60m", HOUR, "1 hour"),
        ("36h", 36 * HOUR, "36 hours"),
        ("24h", DAY, "1 day"),
        ("7d", 7 * DAY, "7 days"),
        ("2w", 14 * DAY, "14 days"),
    ],
)
def test_durations(text: str, milliseconds: int, words: str) -> None:
    policy = parse_policy(f"version: 1\ndefaults: {{cold_after: {text}}}".encode(), "policy.yml")
    assert policy.defaults.cold_after_ms == milliseconds
    assert duration_text(milliseconds) == words


@pytest.mark.parametrize(
    ("table", "path", "matches"),
    [
        ("/ch/hits", "/ch/hits", True),
        ("/ch/hits", "/ch/hits2", False),
        ("/ch/hits", "/x/ch/hits", False),
        ("/ch/*", "/ch/hits", True),
        ("/ch/*", "/ch/01/hits", False),
        ("/ch/*/hits", "/ch/01/hits", True),
        ("/ch/*/hits", "/ch/01/02/hits", False),
        ("/ch/**", "/ch/01/hits", True),
        ("**/hits", "/ch/01/hits", True),
        ("**", "/ch/01/hits", True),
        ("/ch/0?", "/ch/01", True),
        ("/ch/0?", "/ch/012", False),
        ("/ch?hits", "/ch/hits", False),
        ("/ch.x/[a]/(b)|c+$", "/ch.x/[a]/(b)|c+$", True),
        ("/ch.x", "/chxx", False),
        ("/ch/[ab]", "/ch/a", False),
        ("/таблица/*", "/таблица/1", True),
    ],
)
def test_patterns(table: str, path: str, matches: bool) -> None:
    assert bool(re.search(Rule(table, BUILT_IN).regex, path)) is matches


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rules: []", "version is missing"),
        ("version: 2", "version is 2, this job reads policies of version 1"),
        ("version: '1'", "version is '1'"),
        ("version: true", "version is True"),
        ("version: 1\nrule: []", "rule is not a known key"),
        ("version: 1\nrules: {}", "rules is {}"),
        ("version: 1\ndefaults: 1d", "defaults is '1d'"),
        ("version: 1\ndefaults: {cold: 1d}", "defaults.cold is not a known key"),
        ("version: 1\ndefaults: {table: /a}", "defaults.table is not a known key"),
        ("version: 1\nrules: [/a]", "rules[0] is '/a'"),
        ("version: 1\nrules: [{cold_after: 1d}]", "rules[0].table is missing"),
        ("version: 1\nrules: [{table: /a}, {table: b}]", "rules[1].table is 'b'"),
        ("version: 1\nrules: [{table: /a, pin: hot}]", "rules[0].pin is not a known key"),
        ("version: 1\nrules: [{table: /a, table: /b}]", "the policy is not YAML: duplicate key table"),
        ("version: 1\ndefaults: {cold_after: 86400}", "defaults.cold_after is 86400"),
        (
            'version: 1\ndefaults: {cold_after: "30"}',
            "defaults.cold_after is '30'",
        ),
        ('version: 1\ndefaults: {cold_after: ""}', "defaults.cold_after is ''"),
        ("version: 1\ndefaults: {cold_after: 1.5d}", "defaults.cold_after is '1.5d'"),
        ("version: 1\ndefaults: {cold_after: 0d}", "defaults.cold_after is '0d'"),
        ("version: 1\ndefaults: {cold_after: 1y}", "defaults.cold_after is '1y'"),
        ("version: 1\ndefaults: {cold_after: 1d12h}", "defaults.cold_after is '1d12h'"),
        ("version: 1\ndefaults: {cold_after: \u0661d}", "defaults.cold_after is '\u0661d'"),
        ("version: 1\ndefaults: {keep_newest: -1}", "defaults.keep_newest is -1"),
        ("version: 1\ndefaults: {keep_newest: '2'}", "defaults.keep_newest is '2'"),
        ("version: 1\ndefaults: {keep_newest: true}", "defaults.keep_newest is True"),
        ("version: 1\ndefaults: {keep_newest: }", "defaults.keep_newest is None"),
        ("version: 1\ndefaults: {pin_hot: '202610'}", "defaults.pin_hot is '202610'"),
        ("version: 1\ndefaults: {pin_hot: [202610]}", "defaults.pin_hot is [202610]"),
        ("version: 1\ndefaults: {pin_cold: ['a/b']}", "defaults.pin_cold is ['a/b']"),
        ("version: 1\ndefaults: {pin_cold: ['1', '1']}", "defaults.pin_cold is ['1', '1']"),
        ("version: 1\ndefaults: {never: 1}", "defaults.never is 1"),
        ("version: 1\ndefaults: {never: 'yes'}", "defaults.never is 'yes'"),
        ("version: 1\ndefaults: {max_reads: -1}", "defaults.max_reads is -1"),
        ("version: 1\ndefaults: {max_reads: true}", "defaults.max_reads is True"),
        ("version: 1\ndefaults: {max_reads: }", "defaults.max_reads is None"),
        ("version: 1\ndefaults: {max_reads: all}", "defaults.max_reads is 'all'"),
        ("version: 1\ndefaults: {max_reads: {count: 1}}", "defaults.max_reads is {'count': 1}"),
        ("version: 1\ndefaults: {max_reads: 1, reads_within: 30}", "defaults.reads_within is 30"),
        (
            "version: 1\nrules: [{table: /a, reads_within: 30d}]",
            "rules[0].reads_within has no effect, because max_reads is any",
        ),
        (
            "version: 1\ndefaults: {max_reads: 1}\nrules: [{table: /a, max_reads: any, reads_within: 30d}]",
            "rules[0].reads_within has no effect, because max_reads is any",
        ),
        (
            "version: 1\ndefaults: {pin_hot: ['1', '2'], pin_cold: ['2']}",
            "defaults.pin_hot and pin_cold both have partition 2",
        ),
        (
            "version: 1\ndefaults: {pin_hot: ['1']}\nrules: [{table: /a, pin_cold: ['1']}]",
            "rules[0].pin_hot and pin_cold both have partition 1",
        ),
        (
            "version: 1\nrules: [{table: /a, never: true, keep_newest: 2}]",
            "rules[0].keep_newest has no effect, because never is true",
        ),
        (
            "version: 1\ndefaults: {never: true}\nrules: [{table: /a, cold_after: 2d}]",
            "rules[0].cold_after has no effect, because never is true",
        ),
    ],
)
def test_other_policies_are_refused_with_file_and_key(text: str, message: str) -> None:
    with pytest.raises(PolicyError) as refusal:
        parse_policy(text.encode(), "policy.yml")
    assert refusal.value.message.startswith(f"policy.yml: {message}")
    assert refusal.value.remedy


def test_missing_policy_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match=r"none\.yml: the policy cannot be read: No such file or directory"):
        read_policy(tmp_path / "none.yml")
