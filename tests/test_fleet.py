"""The kill matrix: every known implementation is judged exactly as declared."""

from __future__ import annotations

import pytest

from logitsbuf.errors import UsageError
from logitsbuf.mutants import FLEET, by_name, known_bad, known_good
from logitsbuf.selfcheck import killers, self_check
from logitsbuf.spec import BY_ID


@pytest.mark.slow
@pytest.mark.parametrize("mutant", known_bad(), ids=lambda mutant: mutant.name)
def test_a_wrong_implementation_is_refuted_by_what_it_declares(mutant) -> None:
    assert killers(mutant, max_examples=5, seed=3) == mutant.kills


@pytest.mark.slow
@pytest.mark.parametrize("mutant", known_good(), ids=lambda mutant: mutant.name)
def test_a_right_implementation_is_not_flagged(mutant) -> None:
    assert killers(mutant, max_examples=30, seed=4) == mutant.kills
    assert {BY_ID[name].level for name in mutant.kills} <= {"SHOULD"}


def test_every_implementation_says_what_it_does() -> None:
    assert [mutant.name for mutant in FLEET.values() if not mutant.why] == []


def test_an_unknown_mutant_names_the_known_ones() -> None:
    with pytest.raises(UsageError, match="unknown mutant 'nope'; expected one of"):
        by_name("nope")


def test_self_check_fails_on_a_wrong_declaration(monkeypatch, capsys) -> None:
    from dataclasses import replace

    name = "misfit_is_cleared"
    wrong = replace(FLEET[name], kills=frozenset({"COPY-SHAPE"}))
    monkeypatch.setitem(FLEET, name, wrong)
    assert self_check(select=name, max_examples=1, seed=0) == 3
    assert "not killed by COPY-SHAPE; undeclared: COPY-UNTOUCHED" in capsys.readouterr().out


def test_self_check_passes_on_a_right_declaration(capsys) -> None:
    assert self_check(select="misfit_is_cleared", max_examples=1, seed=0) == 0
    assert "1 implementations, 0 not as declared" in capsys.readouterr().out
