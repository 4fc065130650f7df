"""The specification is one table, and everything else follows it."""

from __future__ import annotations

from pathlib import Path

import pytest

from logitsbuf.checks import CHECKS
from logitsbuf.errors import UsageError
from logitsbuf.mutants import known_bad
from logitsbuf.report.specification import explained, listing, markdown
from logitsbuf.scenarios import SCENARIOS
from logitsbuf.spec import BY_ID, INVARIANTS

ROOT = Path(__file__).parents[1]


def test_ids_are_unique() -> None:
    assert len(BY_ID) == len(INVARIANTS)


def test_every_invariant_has_a_check_but_the_one_that_names_a_situation() -> None:
    assert set(BY_ID) - set(CHECKS) == {"COPY-SELF"}
    assert set(CHECKS) <= set(BY_ID)


@pytest.mark.parametrize("invariant", INVARIANTS, ids=lambda i: i.id)
def test_every_invariant_says_why_and_is_motivated(invariant) -> None:
    assert invariant.statement.endswith((".", ")"))
    assert invariant.why
    assert invariant.reports
    assert set(invariant.scenarios) <= set(SCENARIOS)


@pytest.mark.parametrize(
    "invariant",
    # A right-shaped result inside an untouched buffer has wrong values: COPY-NO-ALIAS is never
    # violated alone. It is there to name the cause.
    [i for i in INVARIANTS if i.level != "MAY" and i.id != "COPY-NO-ALIAS"],
    ids=lambda i: i.id,
)
def test_every_invariant_alone_refutes_some_mutant(invariant) -> None:
    assert any(mutant.kills == {invariant.id} for mutant in known_bad())


def test_the_page_for_implementers_is_generated() -> None:
    assert (ROOT / "properties" / "README.md").read_text(encoding="utf-8") == markdown()


def test_the_list_names_every_scenario() -> None:
    assert set(SCENARIOS) <= set(listing().split())


def test_explaining_an_unknown_invariant_names_the_known_ones() -> None:
    with pytest.raises(UsageError, match="'COPY-NOPE'; expected one of COPY-TOTAL"):
        explained("COPY-NOPE")


def test_every_scenario_has_its_property() -> None:
    text = "".join(path.read_text() for path in (ROOT / "properties").glob("test_*.py"))
    assert {name for name in SCENARIOS if f'prove("{name}")' not in text} == set()
