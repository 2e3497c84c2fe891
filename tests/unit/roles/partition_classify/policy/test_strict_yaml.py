# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Strict YAML."""

from __future__ import annotations

import pytest

from partition_classify.policy.strict_yaml import PolicyError, load


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the policy is not a mapping"),
        ("- 1", "the policy is not a mapping"),
        ("a: [", "the policy is not YAML:"),
        ("a: 1\nb: 2\na: 1", "the policy is not YAML: duplicate key a"),
        ("a: {b: 1, c: {d: 1, d: 2}}", "the policy is not YAML: duplicate key d"),
        ("a: 2019-13-45", "the policy is not YAML: month must be in 1..12"),
        (f"a: {'9' * 5000}", "the policy is not YAML: Exceeds the limit"),
        (f"a: {'[' * 2000}", "the policy is not readable YAML: it is nested too deeply"),
        ("a: !!python/name:os.system ''", "the policy is not YAML:"),
    ],
)
def test_other_content_than_a_mapping_of_distinct_keys_is_refused(text: str, message: str) -> None:
    with pytest.raises(PolicyError) as refusal:
        load(text.encode(), "policy.yml")
    assert refusal.value.message.startswith(f"policy.yml: {message}")
    assert refusal.value.remedy


def test_same_key_in_two_mappings_is_fine() -> None:
    assert load(b"a: {b: 1}\nc: {b: 2}", "policy.yml") == {"a": {"b": 1}, "c": {"b": 2}}
