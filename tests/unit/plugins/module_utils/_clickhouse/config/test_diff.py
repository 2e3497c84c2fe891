# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is shown of an edit: everything but secrets."""

from __future__ import annotations

from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.config.diff import (
    RedactedEdit,
    redacted,
)
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.config.edit import FileEdit
from support.files.configs import MAIN

BEFORE = "<yandex><identity>a:b</identity><x><password_sha256_hex>1</password_sha256_hex></x></yandex>"
KEPT = "<x><password_sha256_hex>(hidden)</password_sha256_hex></x>"


def test_secrets_are_hidden_but_not_that_they_change() -> None:
    after = BEFORE.replace("a:b", "a:c").replace("</x>", "</x><secret/>")
    assert redacted(FileEdit(MAIN, BEFORE.encode(), after.encode())) == RedactedEdit(
        MAIN,
        f"<yandex><identity>(hidden)</identity>{KEPT}</yandex>",
        f"<yandex><identity>(hidden, changed)</identity>{KEPT}<secret/></yandex>",
    )


def test_a_file_that_is_new_or_removed_has_one_version() -> None:
    shown = f"<yandex><identity>(hidden)</identity>{KEPT}</yandex>"
    assert redacted(FileEdit(MAIN, BEFORE.encode("utf-16"), None)) == (MAIN, shown, "")
    new = redacted(FileEdit(MAIN, None, BEFORE.encode()))
    assert (new.before, new.after) == ("", shown.replace("(hidden)", "(hidden, changed)"))


def test_a_secret_is_hidden_with_all_that_is_in_it() -> None:
    text = "<yandex><my_Secrets><a>hunter2</a></my_Secrets><b>hunter</b></yandex>"
    assert redacted(FileEdit(MAIN, text.encode(), None)).before == (
        "<yandex><my_Secrets>(hidden)</my_Secrets><b>hunter</b></yandex>"
    )
