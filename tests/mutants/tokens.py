# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Mutants of the tokens of runs, by which a copy of a hot ensemble is recognised."""

from __future__ import annotations

from mutants.mutant import Mutant

_BINDING = "binding/binding.py"
_OWNER = "binding/owner.py"
_PAIR = "patched/parts/pair.py"
_TAKE_OVER = "patched/repair/take_over.py"
_TOKENS = "binding/tokens.py"
_WRITER = "patched/parts/token_writer.py"
_LEASE = "lease/lease.py"

_COPIED = "patched/repair/test_take_over_copied.py"
_OF_TOKENS = "binding/test_tokens.py"
_OF_WRITER = "patched/parts/test_token_writer.py"

MUTANTS = (
    Mutant(
        "a later token is trusted",
        _TOKENS,
        "age >= len(self.texts) or (age >= 0 and self.texts[age] == token.text)",
        "age >= len(self.texts) or age < 0 or self.texts[age] == token.text",
        (f"{_COPIED}::test_a_copy_moves_nothing",),
    ),
    Mutant(
        "the number of a token is enough",
        _TOKENS,
        "(age >= 0 and self.texts[age] == token.text)",
        "age >= 0",
        (f"{_OF_TOKENS}::test_what_hot_knows",),
    ),
    Mutant(
        "a cold ensemble that was set back is a copy's",
        _TOKENS,
        "return age >= len(self.texts) or (age >= 0 and",
        "return 0 <= age < len(self.texts) and (age >= 0 and",
        (f"{_OF_WRITER}::test_a_cold_ensemble_that_was_set_back_is_no_copy",),
    ),
    Mutant(
        "hot without tokens trusts every token",
        _TOKENS,
        "token is not None and (chain is None or not chain.knows(token))",
        "token is not None and chain is not None and not chain.knows(token)",
        (f"{_COPIED}::test_a_copy_of_an_installation_without_tokens",),
    ),
    Mutant(
        "tokens of all cold ensembles are one chain",
        _PAIR,
        "encode_chains({**parse_chains(read.tokens), pair.cold_id: chain})",
        "encode_chains({pair.cold_id: chain})",
        (f"{_OF_WRITER}::test_a_second_cold_ensemble_has_tokens_of_its_own",),
    ),
    Mutant(
        "cold gets the token first",
        _PAIR,
        "            if not _put(hot, tokens_path(root), _with_chain(read, pair, chain), read.tokens):\n"
        "                continue\n"
        "        # Otherwise an earlier run ended between the two writes.\n"
        "        if _put(cold, token_path(root, pair.hot_id), chain.newest.encode(), read.token):\n"
        "            return pair.token is None\n",
        "        if _put(cold, token_path(root, pair.hot_id), chain.newest.encode(), read.token):\n"
        "            _put(hot, tokens_path(root), _with_chain(read, pair, chain), read.tokens)\n"
        "            return pair.token is None\n",
        (f"{_OF_WRITER}::test_a_run_that_dies_anywhere_leaves_a_token_that_hot_knows",),
    ),
    Mutant(
        "cold gets a token that hot may not have",
        _PAIR,
        "                continue\n        # Otherwise",
        "                pass\n        # Otherwise",
        (
            f"{_OF_WRITER}::test_another_run_in_between_is_no_copy",
            f"{_OF_WRITER}::test_a_run_that_dies_anywhere_leaves_a_token_that_hot_knows",
        ),
    ),
    Mutant(
        "a token that cold did not get is replaced",
        _PAIR,
        "if chain is None or pair.token == chain.newest:",
        "if True:",
        (f"{_OF_WRITER}::test_an_adoption_that_dies_between_the_ensembles",),
    ),
    Mutant(
        "a run does not replace the token",
        _PAIR,
        "if chain is None or pair.token == chain.newest:",
        "if chain is None:",
        (f"{_COPIED}::test_a_copy_moves_nothing",),
    ),
    Mutant(
        "each of many runs replaces the token itself",
        _PAIR,
        "        elif pair.token != before:\n",
        "        elif pair is None:\n",
        (f"{_OF_WRITER}::test_many_runs_that_begin_at_once",),
    ),
    Mutant(
        "a run counts the token that it found as its own",
        _PAIR,
        "        elif pair.token != before:\n",
        "        else:\n",
        (f"{_OF_WRITER}::test_a_lost_answer",),
    ),
    Mutant(
        "a copy takes leases",
        _PAIR,
        "        refuse_copied_hot(pair)\n        if not pair.is_bound:",
        "        if not pair.is_bound:",
        (f"{_OF_WRITER}::test_a_token_of_another_ensemble_is_never_overwritten",),
    ),
    Mutant(
        "a lease does not write a token",
        _LEASE,
        "        is_first_of_pair = self._write_token()\n",
        "        is_first_of_pair = False\n",
        (f"{_COPIED}::test_a_copy_takes_no_lease",),
    ),
    Mutant(
        "reads do not refuse a copy",
        _BINDING,
        "    refuse_copied_hot(binding.pair)\n",
        "",
        (f"{_COPIED}::test_a_copy_sets_no_state_and_withdraws_nothing",),
    ),
    Mutant(
        "a copy owns its tables",
        _OWNER,
        "    if binding.pair.is_copied:\n        return Owner.OTHER_CLUSTER\n",
        "",
        (f"{_COPIED}::test_an_audit_of_a_copy_names_the_other_cluster",),
    ),
    Mutant(
        "a run that begins meanwhile looks like a copy",
        _BINDING,
        "    if not pair.is_copied:\n        return pair\n    path",
        "    if pair:\n        return pair\n    path",
        (f"{_OF_WRITER}::test_another_run_in_between_is_no_copy",),
    ),
    Mutant(
        "the tokens are read again without a sync of hot",
        _BINDING,
        "    hot.sync(tokens_path(root))\n",
        "",
        (f"{_OF_WRITER}::test_another_run_in_between_is_no_copy",),
    ),
    Mutant(
        "hot trusts a token although it knows all",
        _PAIR,
        "        if not pair.is_copied or pair.token is None:\n",
        "        if pair.token is None:\n",
        (f"{_COPIED}::test_a_hot_ensemble_that_is_no_copy_needs_no_trust",),
    ),
    Mutant(
        "an original gets another identity",
        _PAIR,
        "if not settled(hot, cold, root, read).is_copied or read.hot_identity is None:",
        "if read.hot_identity is None:",
        ("patched/parts/test_pair_copied.py::test_an_original_keeps_its_identity",),
    ),
    Mutant(
        "a consent counts for a copy",
        _TAKE_OVER,
        "if is_given and not pair.is_copied:",
        "if is_given:",
        (f"{_COPIED}::test_consent_is_no_proof_for_a_copy",),
    ),
    Mutant(
        "a copy takes a table over under the identity of the original",
        _TAKE_OVER,
        "            renew_identity(hot, cold, leases.root)\n",
        "",
        (f"{_COPIED}::test_a_copy_takes_over_with_proof_and_gets_an_identity_of_its_own",),
    ),
    Mutant(
        "a long run writes one token",
        _WRITER,
        "if self._written_at is not None and 0 <= now - self._written_at < SECONDS_BETWEEN:",
        "if self._written_at is not None:",
        (f"{_OF_WRITER}::test_a_run_writes_before_its_first_lease_and_after_some_time",),
    ),
)
