# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""YAML files as the elements that a server makes of them."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.config import yaml_document
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.config.xml_scan import Element
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.config.yaml_document import YamlFile
from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import FormatError

TEXT = b"""# comment
zookeeper:
  node:
    - '@index': 1
      host: a
      port: 2181
    - {host: on, secure: yes}
  root:
other:
  - incl: x
  - '@incl': x
"""


def flat(element: Element) -> list[object]:
    return [
        element.tag,
        dict(element.attributes),
        element.text,
        *([flat(child) for child in element.children]),
    ]


def test_keys_are_elements_and_sequences_are_elements_of_one_name() -> None:
    file = YamlFile("f", TEXT)
    (found,) = file.named("zookeeper")
    assert flat(found) == [
        "zookeeper",
        {},
        "",
        ["node", {"index": "1"}, "", ["host", {}, "a"], ["port", {}, "2181"]],
        ["node", {}, "", ["host", {}, "on"], ["secure", {}, "yes"]],
        ["root", {}, ""],
    ]
    assert (file.root_tag, file.line_of(found)) == ("clickhouse", 2)
    assert (file.uses_of("x"), file.uses_of("y")) == (1, 0)


@pytest.mark.parametrize("text", ["# zookeeper: x\n  # zookeeper\na: b", "my-zookeeper: 1", "zookeepers: 1"])
def test_a_file_without_the_name_is_not_parsed(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(yaml_document, "yaml", None)
    assert YamlFile("f", text.encode()).named("zookeeper") == []


def test_a_comment_after_something_else_is_no_element() -> None:
    assert YamlFile("f", b"a: b # zookeeper\nc:\n  zookeeper: d").named("zookeeper") == []


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(yaml_document, "yaml", None)
    with pytest.raises(FormatError, match="^f is YAML, and .* lacks the Python package yaml") as refusal:
        YamlFile("f", TEXT).named("zookeeper")
    assert "python3-yaml" in refusal.value.remedy


BOMB = "\n".join(
    [f"a0: &a0 [{'x, ' * 9}x]", *(f"a{n}: &a{n} [{f'*a{n - 1}, ' * 9}*a{n - 1}]" for n in range(1, 8))]
)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("zookeeper: [", "f is not YAML: line 1: "),
        ("a: b\nzookeeper:\n\t- x", "f is not YAML: line 3: found character"),
        ("zookeeper: \x00", "f is not YAML: "),
        (f"zookeeper: {'[' * 1000}", "f is not YAML: "),
        ("zookeeper: &x\n  y: *x", "f stands for more than 100000 elements"),
        (f"{BOMB}\nzookeeper: {{a: {{b: {{c: {{d: *a7}}}}}}}}", ""),
    ],
)
def test_unknown_text_is_refused(text: str, message: str) -> None:
    file = YamlFile("f", text.encode())
    if not message:
        # A sequence in a sequence says nothing for a server.
        assert len(file.named("zookeeper")) == 1
        return
    with pytest.raises(FormatError) as refusal:
        file.named("zookeeper")
    assert refusal.value.message.startswith(message)


@pytest.mark.parametrize("root", ["clickhouse", "yandex"])
def test_a_root_of_its_own_is_refused_if_the_element_is_below_it(root: str) -> None:
    """A server makes another root around it, and so finds no element there."""
    file = YamlFile("f", f"a: 1\n{root}:\n  zookeeper: {{node: {{host: a}}}}\n".encode())
    with pytest.raises(
        FormatError, match=f"^f has the key {root} in line 2, below which a server finds nothing"
    ):
        file.named("zookeeper", "include")
    assert file.named("host") == []


def test_several_names_come_in_the_order_of_the_file() -> None:
    file = YamlFile("f", b"include: {'@incl': x}\nzookeeper: 1\nb: 2\n")
    assert [each.tag for each in file.named("zookeeper", "include")] == ["include", "zookeeper"]
