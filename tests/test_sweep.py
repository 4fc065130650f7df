"""What the sweep guarantees, and what the search can reach."""

from __future__ import annotations

from itertools import combinations, product

import pytest
from verbs import reaches

from logitsbuf.case import MODES
from logitsbuf.formats import LOGITS_DTYPES
from logitsbuf.relations import RELATIONS, Draft
from logitsbuf.scenarios import SCENARIOS
from logitsbuf.sweep import BUFFER_LAYOUTS, LOGITS_LAYOUTS, SIZES, pairwise, relation_drafts

DRAFTS = {name: relation_drafts(name) for name in RELATIONS}


def test_pairwise_holds_every_pair() -> None:
    factors = ("abcdefg", range(4), (True, False), "xy")
    rows = pairwise(factors)
    for (i, one), (j, two) in combinations(enumerate(factors), 2):
        assert {(row[i], row[j]) for row in rows} == set(product(one, two))


def test_pairwise_wants_the_largest_factor_first() -> None:
    with pytest.raises(ValueError, match="largest first"):
        pairwise(("ab", "abc"))


def factors(name: str, draft: Draft) -> dict[str, object]:
    return {
        "relation": name,
        "size": (draft.rows, draft.columns),
        "dtype": draft.dtype,
        "logits layout": draft.logits_layout,
        "buffer layout": draft.buffer_layout,
        "special": bool(draft.specials),
        "poison": draft.poison,
    }


LEVELS = {
    "relation": tuple(RELATIONS),
    "size": SIZES,
    "dtype": LOGITS_DTYPES,
    "logits layout": LOGITS_LAYOUTS,
    "buffer layout": BUFFER_LAYOUTS,
    "special": (False, True),
    "poison": ("finite", "nan", "large"),
}


@pytest.mark.parametrize(("one", "two"), list(combinations(LEVELS, 2)))
def test_every_pair_of_factors_occurs(one: str, two: str) -> None:
    rows = [factors(name, draft) for name, drafts in DRAFTS.items() for draft in drafts]
    assert {(row[one], row[two]) for row in rows} == set(product(LEVELS[one], LEVELS[two]))


@pytest.mark.parametrize("dtype", LOGITS_DTYPES)
def test_every_special_of_a_dtype_occurs_where_it_is_converted(dtype: str) -> None:
    from logitsbuf.formats import FORMATS

    cases = [c for name in ("exact", "no_buffer", "specials") for c in SCENARIOS[name].sweep()]
    swept = {s.value for c in cases for k in c.calls if k.logits.dtype == dtype for s in k.specials}
    assert swept >= set(FORMATS[dtype].specials)


def test_every_mode_is_swept() -> None:
    assert {c.mode for case in SCENARIOS["modes"].sweep() for c in case.calls} == set(MODES[1:])


@pytest.mark.parametrize(
    "wanted",
    [
        lambda c: c.logits.columns > c.vocab_size,
        lambda c: c.logits.columns < c.vocab_size,
        lambda c: c.logits.layout.kind == "repeat",
        lambda c: c.logits.layout.pad and c.buffer and c.buffer.layout.pad,
        lambda c: c.buffer and c.buffer.layout.tight,
        lambda c: len(c.specials) > 1,
        lambda c: c.logits.rows == 1,
        lambda c: c.logits.rows > 256,
        lambda c: c.logits.columns > 4096,
        lambda c: c.logits.dtype == "float8_e5m2" and c.poison == "nan",
    ],
)
def test_the_search_reaches(wanted) -> None:
    assert reaches(SCENARIOS["wider_buffer"].strategy, wanted)


def test_unrelated_shapes_coincide_now_and_then() -> None:
    assert reaches(SCENARIOS["any_shapes"].strategy, lambda c: c.matches)
