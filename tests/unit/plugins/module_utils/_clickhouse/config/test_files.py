# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The places of elements in the files of a configuration."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.config.dialects import (
    DIALECTS,
    NEWEST,
    OLDEST,
)
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.config.files import Config, only_child
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
    (hot,), (cold,) = both.sections("zookeeper"), both.sections("cold_zookeeper")
    assert (hot.origin.file.path, hot.nodes()) == (MAIN, [Node("c1")])
    assert (cold.origin.file.path, cold.nodes()) == (DROP_IN, [])
    assert both.sections("none") == []
    assert [str(occurrence) for occurrence in both.occurrences("zookeeper")] == [f"{MAIN} line 1"]


def test_an_element_with_incl_says_what_the_substitution_says() -> None:
    both = config("<zookeeper incl='x'/>", metrika=f"<yandex><x>{NODES}</x></yandex>")
    (section,) = both.sections("zookeeper")
    assert section.nodes() == [Node("c1")]
    found = both.value_of("x").found
    assert found is not None
    assert (found.file.path, found.element.tag) == (METRIKA, "x")


@pytest.mark.parametrize(
    "files", [{}, {"metrika": "<yandex><y/></yandex>"}, {"metrika": "<other><y/></other>"}]
)
def test_a_missing_substitution_has_no_value(files: dict[str, str]) -> None:
    assert config("<zookeeper incl='x' optional='1'/>", **files).sections("zookeeper") == []
    (section,) = config("<zookeeper incl='x'/>", **files).sections("zookeeper")
    assert section.nodes() == []
    assert list(section.problems()) == []


@pytest.mark.parametrize(
    ("main", "path"),
    [
        ("", METRIKA),
        ("<include_from>/a.xml</include_from>", "/a.xml"),
        ("<include_from>/a.xml</include_from><include_from>/b.xml</include_from>", "/a.xml"),
        (f"<include_from>{MAIN}</include_from>", MAIN),
        ("<include_from/>", ""),
    ],
)
def test_the_file_of_substitutions(main: str, path: str) -> None:
    assert config(main).include_from() == (path, "")


def test_of_files_of_substitutions_that_of_the_last_file_counts() -> None:
    both = config(
        "<include_from>/a.xml</include_from>", drop_in="<yandex><include_from>/b</include_from></yandex>"
    )
    assert both.include_from() == ("/b", "")
    assert both.paths() == [MAIN, DROP_IN, "/b"]


@pytest.mark.parametrize(
    ("main", "problem"),
    [
        ("<include_from>a.xml</include_from>", "depends on the folder that the server is started in"),
        (
            "<include_from> /a.xml\n</include_from>",
            "has white space around the path, with which no server starts",
        ),
        ("<include_from from_env='X'/>", "has the attribute from_env, which only the server can resolve"),
        ("<include_from>/a.yaml</include_from>", "names a YAML file, which this collection does not read"),
    ],
)
def test_an_unknown_file_of_substitutions(main: str, problem: str) -> None:
    unknown = config(main)
    assert unknown.include_from() == ("", f"<include_from> in {MAIN} line 1 {problem}")
    assert unknown.value_of("x").problem == unknown.include_from().problem
    assert unknown.paths() == [MAIN]
    assert not unknown.supports_substitutions()


def test_versions_differ_in_the_root_of_substitutions() -> None:
    both = config("<zookeeper incl='x' optional='1'/>", metrika=f"<other><x>{NODES}</x></other>")
    counts = [len(both.view(dialect).sections("zookeeper")) for dialect in DIALECTS]
    assert counts == [0, 1, 1]


def test_versions_that_do_not_load_the_files_are_left_out() -> None:
    assert [view.dialect for view in config("", drop_in="<company/>").views()] == [OLDEST]
    own = {MAIN: b"<company/>", DROP_IN: b"<yandex/>"}
    assert [view.dialect for view in Config(MemoryConfig(own)).views()] == [OLDEST, NEWEST]
    with pytest.raises(
        FormatError, match="^.*a.xml has the root <company>, with which versions since 24 do not start"
    ):
        Config(MemoryConfig({MAIN: b"<clickhouse/>", DROP_IN: b"<company/>"})).views()


def test_substitutions_may_be_in_a_file_that_is_merged() -> None:
    both = config(
        f"<include_from>{DROP_IN}</include_from><zookeeper incl='x'/>",
        drop_in=f"<yandex><x>{NODES}</x></yandex>",
    )
    assert both.substitutions() is both.drop_ins[0]
    assert both.sections("zookeeper")[0].nodes() == [Node("c1")]


def test_uses_of_a_substitution_are_counted_in_all_files_and_depths() -> None:
    both = config("<a incl='x'><b incl='x'/></a><c incl='y'/>", drop_in="<yandex><d incl='x'/></yandex>")
    assert (both.uses_of("x"), both.uses_of("y"), both.uses_of("z")) == (3, 1, 0)


def test_yaml_beside_it_is_read_as_well() -> None:
    both = config("", yaml="zookeeper:\n  node: {host: c1}")
    assert both.sections("zookeeper")[0].nodes() == [Node("c1")]
    assert config("", yaml="cold_a: 1\na-b: 2").sections("a") == []


def test_a_vanished_drop_in_is_an_error() -> None:
    class Vanishing(MemoryConfig):
        def drop_ins(self) -> list[str]:
            return [DROP_IN]

    with pytest.raises(PartMoveError, match=f"^{DROP_IN} was there a moment ago and is gone. Run again"):
        Config(Vanishing({MAIN: b"<yandex/>"}))


def test_edited_files_replace_the_files_on_disk() -> None:
    before = config("<a/>", drop_in="<yandex><a/></yandex>")
    new = XmlFile("/etc/clickhouse-server/config.d/b.xml", b"<yandex><b/></yandex>", exists=False)
    after = before.after({DROP_IN: None, new.path: new})
    assert [file.path for file in after.merged] == [MAIN, new.path]
    assert after.main is before.main


def test_a_missing_configuration_is_an_error() -> None:
    with pytest.raises(PartMoveError, match=f"^{MAIN} does not exist"):
        Config(MemoryConfig())


def test_only_one_element_may_have_a_name() -> None:
    file = XmlFile("f", b"<yandex><a/><b/>\n<b/></yandex>")
    found = only_child(file, "a")
    assert found is not None
    assert found.tag == "a"
    assert only_child(file, "c") is None
    with pytest.raises(FormatError, match="^f has <b> 2 times, in lines 1 and 2"):
        only_child(file, "b")
