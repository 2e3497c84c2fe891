# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The bytes of requests and answers, compared with kazoo's serialisation."""

from __future__ import annotations

import struct
from typing import Any, NoReturn

import pytest
from hypothesis import given, strategies as st
from kazoo.protocol import serialization as theirs
from kazoo.protocol.paths import _prefix_root
from kazoo.security import CREATOR_ALL_ACL, OPEN_ACL_UNSAFE

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import PartMoveError
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import (
    Check,
    Committed,
    Create,
    Delete,
    Multi,
    Op,
    Reason,
    Rejected,
    SetData,
    Stat,
    Unknown,
    Znode,
)
from ansible_collections.olap.partmove.plugins.module_utils._zookeeper.read_requests import (
    CHILDREN,
    DATA,
    MultiRead,
    ReadKind,
    ReadSection,
    SectionResult,
    SingleRead,
)
from ansible_collections.olap.partmove.plugins.module_utils._zookeeper.wire import (
    MARSHALLING_ERROR,
    NO_AUTH,
    NO_NODE,
    Answer,
    Exists,
    MultiEncoder,
    MultiWrite,
    Request,
    Sync,
    wire_path,
)

names = st.text(st.characters(exclude_characters="/", exclude_categories=("Cs", "Cc")), min_size=1).filter(
    lambda name: name not in (".", "..")
)
paths = st.lists(names, max_size=4).map(lambda parts: "/" + "/".join(parts))
chroots = st.sampled_from(["", "/cold", "/zoo/ü"])
versions = st.integers(-1, 2**31 - 1)
long = st.integers(-(2**63), 2**63 - 1)
number = st.integers(-(2**31), 2**31 - 1)
operations: st.SearchStrategy[Op] = st.one_of(
    st.builds(Create, paths, st.binary(), st.booleans()),
    st.builds(SetData, paths, st.binary(), versions),
    st.builds(Delete, paths, versions),
    st.builds(Check, paths, versions),
)
stats = st.builds(Stat, long, long, long, long, number, number, number, long, number, number, long)

END = struct.pack("!iBi", -1, 1, -1)


def refuse(path: str, code: int) -> NoReturn:
    raise PermissionError(path, code)


def kazoo_operation(chroot: str, op: Op, authenticated: bool) -> object:
    path = _prefix_root(chroot, op.path)
    if isinstance(op, Create):
        acl = CREATOR_ALL_ACL if authenticated else OPEN_ACL_UNSAFE
        return theirs.Create(path, op.data, acl, int(op.ephemeral))
    if isinstance(op, SetData):
        return theirs.SetData(path, op.data, op.version)
    if isinstance(op, Delete):
        return theirs.Delete(path, op.version)
    return theirs.CheckVersion(path, op.version)


@given(chroots, st.lists(operations, max_size=6), st.booleans())
def test_a_multi_is_written_as_kazoo_writes_it(chroot: str, ops: list[Op], authenticated: bool) -> None:
    ours = MultiWrite(MultiEncoder(chroot, authenticated=authenticated).encode(tuple(ops)), lambda: True)
    transaction = theirs.Transaction([kazoo_operation(chroot, op, authenticated) for op in ops])
    # kazoo writes the empty user name of the scheme "auth" as null.
    expected = bytes(transaction.serialize()).replace(b"\x04auth\xff\xff\xff\xff", b"\x04auth\0\0\0\0")
    assert ours.serialize() == expected
    assert ours.type == transaction.type


@given(chroots, paths)
def test_single_requests_are_written_as_kazoo_writes_them(chroot: str, path: str) -> None:
    full = _prefix_root(chroot, path)
    pairs: list[tuple[Request, Any]] = [
        (SingleRead(DATA, chroot, path), theirs.GetData(full, None)),
        (SingleRead(CHILDREN, chroot, path), theirs.GetChildren(full, None)),
        (Exists(wire_path(chroot, path)), theirs.Exists(full, None)),
        (Sync(wire_path(chroot, path)), theirs.Sync(full)),
    ]
    for ours, expected in pairs:
        assert (ours.type, ours.serialize()) == (expected.type, bytes(expected.serialize()))


sections = st.lists(
    st.builds(ReadSection, st.sampled_from([DATA, CHILDREN]), st.lists(paths, max_size=3)), max_size=4
)


@given(chroots, sections)
def test_a_multi_read_holds_the_single_requests(chroot: str, asked: list[ReadSection]) -> None:
    chunks = []
    for kind, many in asked:
        for path in many:
            single = SingleRead(kind, chroot, path)
            chunks.append(struct.pack("!iBi", single.type, 0, -1) + single.serialize())
    request = MultiRead(chroot, asked)
    assert request.type == 22
    assert request.paths == len(chunks)
    assert request.serialize() == b"".join(chunks) + struct.pack("!iBi", -1, 1, -1)


@given(st.lists(st.none() | st.tuples(st.none() | st.binary(), stats), max_size=6), st.binary(max_size=3))
def test_data_is_read_from_the_answer(found: list[tuple[bytes | None, Stat] | None], before: bytes) -> None:
    packet = bytearray(before)
    for result in found:
        if result is None:
            packet += struct.pack("!iBii", -1, 0, NO_NODE, NO_NODE)
        else:
            data, stat = result
            packet += struct.pack("!iBi", DATA.type, 0, 0) + theirs.write_buffer(data)
            packet += struct.pack("!qqqqiiiqiiq", *stat)
    packet += struct.pack("!iBi", -1, 1, -1)
    asked = [f"/n{index}" for index in range(len(found))]
    request = MultiRead("/chroot", [ReadSection(DATA, asked)])
    ((_kind, znodes, size),) = request.decode(Answer(bytes(packet), len(before)), refuse)
    assert size == len(packet) - len(before) - len(struct.pack("!iBi", -1, 1, -1))
    expected = [
        result and Znode(path, result[0] or b"", result[1]) for path, result in zip(asked, found, strict=True)
    ]
    assert znodes == expected


@given(st.lists(st.none() | st.lists(names), max_size=4))
def test_children_are_read_from_the_answer(found: list[list[str] | None]) -> None:
    packet = bytearray()
    for children in found:
        if children is None:
            packet += struct.pack("!iBii", -1, 0, NO_NODE, NO_NODE)
        else:
            packet += struct.pack("!iBii", CHILDREN.type, 0, 0, len(children))
            for child in children:
                packet += theirs.write_string(child)
    packet += END
    request = MultiRead("", [ReadSection(CHILDREN, ["/"] * len(found))])
    ((_kind, read, _size),) = request.decode(Answer(bytes(packet), 0), refuse)
    assert read == [None if children is None else tuple(sorted(children)) for children in found]


def test_alternating_sections_keep_their_order() -> None:
    stat = Stat(1, 2, 3, 4, 5, 6, 7, 8, 1, 0, 11)
    data = struct.pack("!iBi", DATA.type, 0, 0) + theirs.write_buffer(b"d")
    data += struct.pack("!qqqqiiiqiiq", *stat)
    names = struct.pack("!iBii", CHILDREN.type, 0, 0, 1) + theirs.write_string("n")
    missing = struct.pack("!iBii", -1, 0, NO_NODE, NO_NODE)
    asked = [ReadSection(DATA, ["/a", "/b"]), ReadSection(CHILDREN, ["/c"]), ReadSection(DATA, ["/d"])]

    found = MultiRead("", asked).decode(Answer(data + missing + names + data + END, 0), refuse)

    assert found == [
        SectionResult(DATA, [Znode("/a", b"d", stat), None], len(data + missing)),
        SectionResult(CHILDREN, [("n",)], len(names)),
        SectionResult(DATA, [Znode("/d", b"d", stat)], len(data)),
    ]


def test_an_error_other_than_no_node_names_its_path() -> None:
    packet = struct.pack("!iBii", -1, 0, NO_NODE, NO_NODE) + struct.pack("!iBii", -1, 0, NO_AUTH, NO_AUTH)
    with pytest.raises(PermissionError) as refused:
        MultiRead("", [ReadSection(DATA, ["/a", "/b"])]).decode(Answer(packet, 0), refuse)
    assert refused.value.args == ("/b", NO_AUTH)


@pytest.mark.parametrize("kind", [DATA, CHILDREN], ids=["data", "children"])
def test_a_missing_znode_in_the_form_of_keeper(kind: ReadKind[Any]) -> None:
    """Its own type and the code once, without a body."""
    missing, names = struct.pack("!iBi", kind.type, 0, NO_NODE), struct.pack("!iBii", 8, 0, 0, 0)
    asked = [ReadSection(kind, ["/a", "/b"]), ReadSection(CHILDREN, ["/c"])]
    found = MultiRead("", asked).decode(Answer(2 * missing + names + END, 0), refuse)
    assert [each.found for each in found] == [[None, None], [()]]
    forbidden = struct.pack("!iBi", kind.type, 0, NO_AUTH)
    with pytest.raises(PermissionError) as refused:
        MultiRead("", asked).decode(Answer(missing + forbidden + names + END, 0), refuse)
    assert refused.value.args == ("/b", NO_AUTH)


ONE_CHILD = struct.pack("!ii", 1, 1) + b"n"


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        struct.pack("!iBi", 8, 0, 0) + ONE_CHILD,
        struct.pack("!iBi", 8, 0, 0) + ONE_CHILD + END + b"x",
        struct.pack("!iBi", 8, 0, 0) + ONE_CHILD[:-1] + END,
        struct.pack("!iBi", 4, 0, 0) + ONE_CHILD + END,
        struct.pack("!iBii", 8, 0, 0, -1) + END,
        struct.pack("!iBiii", 8, 0, 0, 1, -1) + END,
        struct.pack("!iBi", 8, 0, 0) + struct.pack("!ii", 1, 1) + b"\xff" + END,
        END,
    ],
    ids=["nothing", "no end", "more", "less", "other type", "no count", "no size", "no UTF-8", "no result"],
)
def test_an_answer_in_another_form_is_no_answer(answer: bytes) -> None:
    with pytest.raises(PermissionError) as refused:
        MultiRead("", [ReadSection(CHILDREN, ["/a"])]).decode(Answer(answer, 0), refuse)
    assert refused.value.args == ("/a", MARSHALLING_ERROR)


@pytest.mark.parametrize("answer", [b"", ONE_CHILD[:-1], ONE_CHILD + b"x"])
def test_a_single_answer_in_another_form_is_no_answer(answer: bytes) -> None:
    with pytest.raises(PermissionError) as refused:
        SingleRead(CHILDREN, "", "/a").decode(Answer(answer, 0), refuse)
    assert refused.value.args == ("/a", MARSHALLING_ERROR)


@pytest.mark.parametrize(
    "answer",
    [
        b"\0\0",
        struct.pack("!iBi", 2, 0, 0),
        struct.pack("!iBi", 2, 0, 0) + END + b"x",
        struct.pack("!iBi", 77, 0, 0) + END,
        struct.pack("!iBii", -1, 0, 0, 0) + END,
        struct.pack("!iBi", 2, 1, 0),
    ],
    ids=["short", "no end", "more", "other type", "failed without a code", "other end"],
)
def test_the_outcome_of_a_multi_is_unknown_if_the_answer_is_not_understood(answer: bytes) -> None:
    request = MultiWrite(b"", lambda: True)
    request.serialize()
    assert isinstance(request.decode(Answer(answer, 0)), Unknown)


def test_single_read_distinguishes_missing_from_forbidden() -> None:
    ((kind, found, _size),) = SingleRead(DATA, "", "/a").decode(Answer(b"", 0, NO_NODE), refuse)
    assert (kind, found) == (DATA, [None])
    with pytest.raises(PermissionError):
        SingleRead(DATA, "", "/a").decode(Answer(b"", 0, NO_AUTH), refuse)


@pytest.mark.parametrize(
    ("code", "outcome"),
    [
        (-2, Unknown),
        (-4, Unknown),
        (-5, Unknown),
        (-7, Unknown),
        (-101, Rejected),
        (-112, Unknown),
        (-118, Rejected),
        (-119, Rejected),
        (-122, Unknown),
    ],
)
def test_an_error_of_a_whole_multi(code: int, outcome: type) -> None:
    request = MultiWrite(b"", lambda: True)
    request.serialize()
    assert isinstance(request.decode(Answer(b"", 0, code)), outcome)


def test_failed_operation_is_the_first_with_a_code() -> None:
    request = MultiWrite(b"", lambda: True)
    request.serialize()
    codes = [0, 0, -110, -2, -2]
    packet = b"".join(struct.pack("!iBii", -1, 0, code, code) for code in codes)
    end = struct.pack("!iBi", -1, 1, -1)
    assert request.decode(Answer(packet + end, 0)) == Rejected(2, Reason.NODE_EXISTS, -110)
    assert request.decode(Answer(end, 0)) == Committed()


def test_zxid_of_a_multi_comes_from_its_set_data() -> None:
    """Beside checks and deletions without results, and a creation with a path."""
    request = MultiWrite(b"", lambda: True)
    request.serialize()
    stat = struct.pack("!qqqqiiiqiiq", 1, 77, *[0] * 9)
    results = (
        (13, b""),
        (2, b""),
        (1, struct.pack("!i", 2) + b"/a"),
        (5, stat),
    )
    packet = b"".join(struct.pack("!iBi", kind, 0, 0) + result for kind, result in results)
    end = struct.pack("!iBi", -1, 1, -1)
    outcomes = [request.decode(Answer(each, 0)) for each in (packet + end, packet[:33] + end)]
    assert [getattr(outcome, "zxid", None) for outcome in outcomes] == [77, 0]


def test_a_multi_that_may_not_be_sent_becomes_an_empty_one() -> None:
    empty = MultiEncoder("", authenticated=False).encode(())
    request = MultiWrite(MultiEncoder("", authenticated=False).encode((Delete("/a", 0),)), lambda: False)
    assert request.serialize() == empty
    assert isinstance(request.decode(Answer(empty, 0)), Unknown)


@pytest.mark.parametrize("path", ["", "a", "/a/", "//", "/a//b", "a/b"])
def test_invalid_path_is_refused(path: str) -> None:
    multi: Multi = (Delete(path, 0),)
    with pytest.raises(PartMoveError, match="is not an absolute path"):
        MultiEncoder("/chroot", authenticated=False).encode(multi)
