# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Where an element is in the files of a configuration."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.config.files import Config, only
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.config.xml_document import XmlFile
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.config.zookeeper_element import Node
from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import (
    FormatError,
    PartMoveError,
)
from support.files.configs import MAIN, METRIKA, MemoryConfig

DROP_IN = "/etc/clickhouse-server/config.d/a.xml"
YAML = "/etc/clickhouse-server/config.d/a.yaml"
NODES = "<node><host>c1</host></node>"


def config(main: str, **files: str) -> Config:
    """A configuration; the other files are drop_in, metrika and yaml."""
    paths = {"drop_in": DROP_IN, "metrika": METRIKA, "yaml": YAML}
    texts = {paths[name]: text.encode() for name, text in files.items()}
    return Config(MemoryConfig({MAIN: f"<yandex>{main}</yandex>".encode()} | texts))


def test_an_element_is_found_in_the_file_that_has_it() -> None:
    both = config(f"<zookeeper>{NODES}</zookeeper>", drop_in="<yandex><cold_zookeeper/></yandex>")
    assert [each.path for each in both.merged] == [MAIN, DROP_IN]
    hot, cold = both.find("zookeeper"), both.find("cold_zookeeper")
    assert hot is not None
    assert cold is not None
    assert (hot.file.path, hot.nodes()) == (MAIN, [Node("c1")])
    assert (cold.file.path, cold.nodes()) == (DROP_IN, [])
    assert both.find("none") is None


def test_an_element_with_incl_says_what_the_substitution_says() -> None:
    place = config("<zookeeper incl='x'/>", metrika=f"<yandex><x>{NODES}</x></yandex>").find("zookeeper")
    assert place is not None
    assert place.substitution == "x"
    assert place.meaning is not None
    assert place.meaning[0].path == METRIKA
    assert place.nodes() == [Node("c1")]


@pytest.mark.parametrize("files", [{}, {"metrika": "<yandex><y/></yandex>"}])
def test_a_substitution_that_is_not_there_means_nothing(files: dict[str, str]) -> None:
    place = config("<zookeeper incl='x'/>", **files).find("zookeeper")
    assert place is not None
    assert place.meaning is None
    assert place.nodes() == []


@pytest.mark.parametrize(
    ("main", "path"),
    [
        ("", METRIKA),
        ("<include_from>/a.xml</include_from>", "/a.xml"),
        ("<include_from> /a.xml\n</include_from><include_from>/b.xml</include_from>", "/b.xml"),
    ],
)
def test_the_file_of_substitutions(main: str, path: str) -> None:
    assert config(main).substitutions_path() == path


@pytest.mark.parametrize("text", ["a.xml", "", MAIN])
def test_a_file_that_cannot_be_one_of_substitutions(text: str) -> None:
    with pytest.raises(FormatError, match=f"^<include_from> in {MAIN} "):
        config(f"<include_from>{text}</include_from>").substitutions_path()


def test_uses_of_a_substitution_are_counted_in_all_files_and_depths() -> None:
    both = config("<a incl='x'><b incl='x'/></a><c incl='y'/>", drop_in="<yandex><d incl='x'/></yandex>")
    assert (both.uses_of("x"), both.uses_of("y"), both.uses_of("z")) == (3, 1, 0)


@pytest.mark.parametrize(
    ("main", "files", "message"),
    [
        ("<a/><a/>", {}, f"<a> is there 2 times: in {MAIN} and {MAIN}"),
        ("<a/>", {"drop_in": "<yandex><a/></yandex>"}, f"<a> is there 2 times: in {MAIN} and {DROP_IN}"),
        ("<a from_env='X'/>", {}, f"<a> in {MAIN} has the attribute from_env, which is not managed here"),
        ("<a replace='1'/>", {}, f"<a> in {MAIN} has the attribute replace, which is not managed here"),
        ("<a incl='x'><b/></a>", {}, f"<a> in {MAIN} has incl and elements of its own as well"),
        ("", {"yaml": "a: 1"}, f"{YAML} speaks of a and is not XML"),
    ],
)
def test_an_element_that_is_not_understood_is_refused(main: str, files: dict[str, str], message: str) -> None:
    with pytest.raises(FormatError) as refusal:
        config(main, **files).find("a")
    assert refusal.value.message.startswith(message)
    assert refusal.value.remedy


def test_a_yaml_file_that_speaks_of_something_else_is_no_reason_to_refuse() -> None:
    assert config("", yaml="cold_a: 1\na-b: 2").find("a") is None


def test_a_configuration_that_is_not_there_is_told() -> None:
    with pytest.raises(PartMoveError, match=f"^{MAIN} does not exist"):
        Config(MemoryConfig())


def test_only_one_element_may_have_a_name() -> None:
    file = XmlFile("f", b"<yandex><a/><b/><b/></yandex>")
    found = only(file, "a")
    assert found is not None
    assert found.tag == "a"
    assert only(file, "c") is None
    with pytest.raises(FormatError, match="^f has <b> 2 times"):
        only(file, "b")
