# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Inserts pass from a statement to a queue, and from there into the background, and none is overlooked."""

from __future__ import annotations

from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.table.older_inserts import (
    InsertsInProgress,
    OlderInserts,
)


def seen(statements: str = "", queued: str = "", background: str = "") -> InsertsInProgress:
    """What is seen, each named by a letter."""
    return InsertsInProgress(
        *({each: f"the {each}" for each in found} for found in (statements, queued, background))
    )


def observed(*observations: InsertsInProgress) -> tuple[list[bool], list[str]]:
    """Whether everything older has ended after each observation, and what remained after the last one."""
    older = OlderInserts()
    return [older.observe(each) for each in observations], list(older.remaining)


def test_a_server_without_inserts_needs_one_observation() -> None:
    assert observed(seen()) == ([True], [])


def test_each_station_counts_until_it_was_seen_without() -> None:
    assert observed(seen("a"), seen()) == ([False, True], [])
    assert observed(seen(queued="q"), seen()) == ([False, True], [])
    assert observed(seen(background="b"), seen()) == ([False, True], [])


def test_newer_inserts_in_the_queue_and_in_the_background_are_not_waited_for() -> None:
    assert observed(seen(queued="q"), seen(queued="qr"), seen(queued="r")) == ([False, False, True], [])
    assert observed(seen(background="bc"), seen(background="c"), seen(background="b")) == (
        [False, False, True],
        [],
    )


def test_what_a_statement_queued_at_its_end_counts() -> None:
    assert observed(seen("a", "q"), seen("", "r"), seen("", "r")) == ([False, False, False], ["the r"])


def test_what_leaves_the_queue_counts_in_the_background() -> None:
    """The background was idle while the entry was queued."""
    assert observed(seen(queued="q"), seen(background="b"), seen()) == ([False, False, True], [])
    assert observed(seen(background="b"), seen("", "", "b"), seen("", "q", "")) == ([False, False, True], [])
    assert observed(seen("a"), seen(queued="q"), seen(background="b")) == ([False, False, False], ["the b"])


def test_all_that_may_still_insert_is_listed() -> None:
    assert observed(seen("a", "q", "b")) == ([False], ["the a", "the q", "the b"])
    assert observed(seen("", "q", "b")) == ([False], ["the q", "the b"])
    assert observed(seen("", "qr", ""), seen("", "rs", "b")) == ([False, False], ["the r", "the b"])
