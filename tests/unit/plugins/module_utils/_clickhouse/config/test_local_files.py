# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files are replaced as a whole, in order, and only if all of them can be replaced."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.config.draft import FileEdit
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.config.local_files import (
    ConfigFiles,
    check_replaceable,
    hard_links,
    replace_files,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import PartMoveError

ROOT_ONLY = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")


@pytest.fixture
def main(tmp_path: Path) -> Path:
    path = tmp_path / "config.xml"
    path.write_bytes(b"<yandex/>")
    path.chmod(0o640)
    return path


def listing(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*"))


@ROOT_ONLY
def test_owner_mode_and_attributes_stay(main: Path) -> None:
    os.chown(main, 101, 102)
    os.setxattr(main, "user.note", b"mine")
    before = main.stat()
    assert replace_files([FileEdit(str(main), b"<yandex/>", b"<new/>")], str(main), backup=False) == []
    after = main.stat()
    assert main.read_bytes() == b"<new/>"
    assert (after.st_uid, after.st_gid, stat.S_IMODE(after.st_mode)) == (101, 102, 0o640)
    assert os.getxattr(main, "user.note") == b"mine"
    assert after.st_ino != before.st_ino
    assert after.st_mtime_ns >= before.st_mtime_ns
    assert listing(main.parent) == ["config.xml"]


@ROOT_ONLY
def test_new_file_and_folder_are_like_config_xml(main: Path) -> None:
    os.chown(main, 101, 102)
    os.chown(main.parent, 103, 104)
    new = main.parent / "config.d" / "new.xml"
    replace_files([FileEdit(str(new), None, b"<new/>")], str(main), backup=True)
    assert (new.stat().st_uid, new.stat().st_gid, stat.S_IMODE(new.stat().st_mode)) == (101, 102, 0o640)
    assert (new.parent.stat().st_uid, new.parent.stat().st_gid) == (103, 104)
    assert stat.S_IMODE(new.parent.stat().st_mode) == stat.S_IMODE(main.parent.stat().st_mode)


def test_link_stays_and_its_target_is_replaced(main: Path) -> None:
    link = main.parent / "link.xml"
    link.symlink_to("config.xml")
    replace_files([FileEdit(str(link), b"<yandex/>", b"<new/>")], str(link), backup=False)
    assert link.is_symlink()
    assert main.read_bytes() == b"<new/>"


def test_backups_have_the_old_content_and_names_that_no_server_merges(main: Path) -> None:
    drop_in = main.parent / "config.d" / "a.xml"
    drop_in.parent.mkdir()
    drop_in.write_bytes(b"<gone/>")
    new = main.parent / "new.xml"
    edits = [
        FileEdit(str(new), None, b"<new/>"),
        FileEdit(str(main), b"<yandex/>", b"<other/>"),
        FileEdit(str(drop_in), b"<gone/>", None),
    ]
    backups = replace_files(edits, str(main), backup=True)
    assert [Path(each).read_bytes() for each in backups] == [b"<yandex/>", b"<gone/>"]
    assert stat.S_IMODE(Path(backups[0]).stat().st_mode) == 0o640
    assert not drop_in.exists()
    assert new.read_bytes() == b"<new/>"
    files = ConfigFiles(str(main))
    assert files.drop_ins() == []
    assert len(listing(main.parent)) == 5


def test_nothing_is_replaced_when_one_cannot_be(main: Path) -> None:
    nowhere = main.parent / "a" / "b" / "new.xml"
    edits = [FileEdit(str(main), b"<yandex/>", b"<new/>"), FileEdit(str(nowhere), None, b"<new/>")]
    with pytest.raises(
        PartMoveError, match=r"new.xml cannot be replaced: its folder .*/a may not be written to"
    ):
        replace_files(edits, str(main), backup=True)
    assert main.read_bytes() == b"<yandex/>"
    assert listing(main.parent) == ["config.xml"]


@pytest.mark.parametrize("now", [b"<changed/>", None])
def test_file_that_was_changed_meanwhile_is_left_alone(main: Path, now: bytes | None) -> None:
    first = main.parent / "first.xml"
    if now is None:
        main.unlink()
        like = first
        first.write_bytes(b"x")
    else:
        main.write_bytes(now)
        like = main
    edits = [FileEdit(str(main), b"<yandex/>", b"<new/>")]
    expected = "config.xml was changed by somebody else" if now else "config.xml or its folder was removed"
    with pytest.raises(PartMoveError, match=expected):
        replace_files(edits, str(like), backup=False)
    assert (main.read_bytes() if now else None) == now


def test_an_error_names_the_files_replaced_before_it(main: Path) -> None:
    new = main.parent / "new.xml"
    edits = [FileEdit(str(new), None, b"<new/>"), FileEdit(str(main), b"<other/>", b"<x/>")]
    with pytest.raises(PartMoveError) as caught:
        replace_files(edits, str(main), backup=False)
    assert str(caught.value) == (
        f"{main} was changed by somebody else in the meantime, after {new} was replaced. Run again."
    )
    assert (main.read_bytes(), new.read_bytes()) == (b"<yandex/>", b"<new/>")
    assert listing(main.parent) == ["config.xml", "new.xml"]


def test_which_files_are_merged(main: Path) -> None:
    for name in ("conf.d/b.xml", "config.d/a.conf", "config.d/.a.xml", "config.d/a.xml~", "config.d/a.yaml"):
        path = main.parent / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"x")
    (main.parent / "config.d" / "folder.xml").mkdir()
    (main.parent / "config.d" / "nothing.xml").symlink_to("nowhere")
    files = ConfigFiles(str(main))
    (main.parent / "config.d" / "Z.XML").touch()
    assert files.drop_ins() == [
        f"{main.parent}/conf.d/b.xml",
        f"{main.parent}/config.d/Z.XML",
        f"{main.parent}/config.d/a.conf",
        f"{main.parent}/config.d/a.yaml",
    ]
    other = ConfigFiles(str(main.with_name("server.xml")))
    assert other.drop_ins() == [f"{main.parent}/conf.d/b.xml"]


def test_a_path_that_is_no_file_is_refused(main: Path) -> None:
    files = ConfigFiles(str(main))
    assert files.read(str(main.parent / "none")) is None
    with pytest.raises(PartMoveError, match="is a directory. Give the path of a file"):
        files.read(str(main.parent))
    os.mkfifo(main.parent / "pipe")
    with pytest.raises(PartMoveError, match="is not a regular file"):
        files.read(str(main.parent / "pipe"))


def test_a_dangling_link_is_an_error(main: Path) -> None:
    """As a file of substitutions the link counts as missing, as for the server."""
    link = main.parent / "link.xml"
    link.symlink_to("nowhere")
    assert ConfigFiles(str(main)).read(str(link)) is None
    with pytest.raises(PartMoveError, match=f"^{link} is a link to nowhere, which does not exist") as refusal:
        ConfigFiles(str(link)).read(str(link))
    assert "user" not in refusal.value.remedy


def test_a_file_in_place_of_the_drop_in_folder_is_an_error(main: Path) -> None:
    main.with_suffix(".d").write_bytes(b"")
    files = ConfigFiles(str(main))
    assert files.drop_ins() == []
    with pytest.raises(PartMoveError, match=r"config.d is a file and no folder. Remove that file"):
        check_replaceable([FileEdit(str(main.with_suffix(".d") / "new.xml"), None, b"<x/>")])


def test_a_vanished_file_is_an_error(main: Path) -> None:
    edit = FileEdit(str(main), b"<yandex/>", b"<x/>")
    main.unlink()
    with pytest.raises(PartMoveError, match="was removed by somebody else in the meantime. Run again"):
        check_replaceable([edit])
    assert ConfigFiles(str(main)).modified([str(main)]) == 0.0


def test_hard_links_of_a_file_are_reported(main: Path) -> None:
    edits = [FileEdit(str(main), b"<yandex/>", b"<new/>")]
    assert hard_links(edits) == []
    other = main.with_name("other.xml")
    other.hardlink_to(main)
    (sentence,) = hard_links(edits)
    assert sentence.startswith(f"{main} has 2 names (hard links). It is replaced as a whole")
    replace_files(edits, str(main), backup=False)
    assert (main.read_bytes(), other.read_bytes()) == (b"<new/>", b"<yandex/>")


AS_NOBODY = """
import sys
import os
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.config.draft import FileEdit
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.config.local_files import (
    ConfigFiles,
    check_replaceable,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import PartMoveError
os.setuid(65534)
path = sys.argv[1]
try:
    data = ConfigFiles(path).read(path)
    check_replaceable([FileEdit(path, data, b"x")])
except PartMoveError as error:
    print(error)
"""


@ROOT_ONLY
@pytest.mark.parametrize(
    ("owner", "mode", "folder_mode", "reason"),
    [
        (0, 0o600, 0o777, "cannot be read: Permission denied"),
        (0, 0o644, 0o777, "cannot be replaced: it may not be written to"),
        (65534, 0o644, 0o755, "cannot be replaced: its folder {folder} may not be written to"),
        (0, 0o666, 0o777, "cannot be replaced: it belongs to another user"),
    ],
)
def test_missing_permissions_are_refused(  # the folders of pytest are closed to other users
    owner: int, mode: int, folder_mode: int, reason: str
) -> None:
    folder = Path(f"/tmp/partmove-test-{os.getpid()}-{owner}-{mode:o}")
    folder.mkdir()
    try:
        path = folder / "config.xml"
        path.write_bytes(b"<yandex/>")
        os.chown(path, owner, owner)
        path.chmod(mode)
        folder.chmod(folder_mode)
        done = subprocess.run(
            [sys.executable, "-c", AS_NOBODY, str(path)],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        )
        assert f"{path} {reason.format(folder=folder)}" in done.stdout
    finally:
        path.unlink()
        folder.rmdir()


def test_permitted_edits_are_not_refused(main: Path) -> None:
    check_replaceable(
        [
            FileEdit(str(main), b"<yandex/>", b"<x/>"),
            FileEdit(str(main.parent / "config.d" / "new.xml"), None, b"<x/>"),
        ]
    )
