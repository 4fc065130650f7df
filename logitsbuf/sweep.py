"""The sweep: cases that always run, chosen so that every pair of factors occurs.

Random weights guarantee nothing: a class that is drawn once in twenty times is missed by two
hundred examples now and then. A pairwise covering array does guarantee, with few cases.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import combinations, product
from typing import Any

from logitsbuf.case import PLACES, POISONS, Call, Case, Layout, Special, single
from logitsbuf.formats import FORMATS, LOGITS_DTYPES, WRONG_BUFFER_DTYPES
from logitsbuf.relations import RELATIONS, Draft

SIZES: tuple[tuple[int, int], ...] = (
    # Small ones, then each threshold of rows and of columns from both sides.
    *((1, 1), (1, 2), (2, 1), (2, 2), (3, 5), (5, 3), (4, 13), (8, 32), (16, 129)),
    *((127, 5), (128, 3), (255, 3), (256, 4), (257, 2), (1023, 2), (1024, 3), (1025, 1)),
    *((4095, 1), (4096, 2), (4097, 3), (2, 255), (1, 1023), (3, 1024), (2, 1025)),
    # Widths of real models and drafts, and powers of two from both sides.
    *((2, 32000), (1, 32768), (2, 32769), (1, 65535), (2, 65537), (1, 128256), (1, 131073)),
    *((1, 151936), (1, 154880), (1, 262144), (1, 262145)),
)

LOGITS_LAYOUTS: tuple[Layout, ...] = (
    Layout(),
    Layout(pad=1),
    Layout(pad=3, offset=1),
    Layout(offset=5),
    Layout(kind="repeat"),
    Layout(kind="overlap", offset=1),
    Layout(tight=True),
    Layout(pad=8),
)
BUFFER_LAYOUTS: tuple[Layout, ...] = (
    Layout(),
    Layout(pad=1),
    Layout(pad=8, offset=3),
    Layout(offset=2),
    Layout(tight=True),
    Layout(pad=4, tight=True),
)
EXOTIC_LAYOUTS: tuple[Layout, ...] = tuple(
    Layout(kind, pad=pad) for kind in ("columns", "step") for pad in (0, 2)
)
SURPLUSES = (0, 1, -1, 64, -64, 3, -5)
DELTAS = (1, 2, 3, 7)
SPECIALS = 18  # how many values the factor "special" picks from, by position


@cache
def pairwise(factors: tuple[Sequence[Any], ...]) -> tuple[tuple[Any, ...], ...]:
    """Rows that hold every pair of values of every two factors.

    The two largest factors come first and give the full product; the others are chosen row by row
    for the most pairs that have not occurred yet. Deterministic.
    """
    sizes = [len(values) for values in factors]
    if sorted(sizes, reverse=True) != sizes:
        raise ValueError(f"factors of {sizes} values; expected the largest first")
    missing = {
        (a, b): set(product(range(sizes[a]), range(sizes[b])))
        for a, b in combinations(range(len(sizes)), 2)
    }
    rows = [_chosen([i, j], sizes, missing) for i, j in product(range(sizes[0]), range(sizes[1]))]
    while leftover := next((pair for pair, left in missing.items() if left), None):
        rows.append(_repair(leftover, min(missing[leftover]), sizes, missing))
    return tuple(tuple(f[i] for f, i in zip(factors, row, strict=True)) for row in rows)


_Missing = dict[tuple[int, int], set[tuple[int, int]]]


def _chosen(row: list[int], sizes: list[int], missing: _Missing) -> list[int]:
    """The row, completed greedily; its pairs are no longer missing."""
    for factor in range(len(row), len(sizes)):
        turn = row[0] + row[1]  # without news, values take turns
        order = [(turn + i) % sizes[factor] for i in range(sizes[factor])]
        row.append(max(order, key=lambda value: _news(row, factor, value, missing)))
    _strike(row, missing)
    return row


def _news(row: list[int], factor: int, value: int, missing: _Missing) -> int:
    return sum((other, value) in missing[i, factor] for i, other in enumerate(row))


def _strike(row: list[int], missing: _Missing) -> None:
    for (a, b), left in missing.items():
        left.discard((row[a], row[b]))


def _repair(
    pair: tuple[int, int], values: tuple[int, int], sizes: list[int], missing: _Missing
) -> list[int]:
    row = [0] * len(sizes)
    row[pair[0]], row[pair[1]] = values
    _strike(row, missing)
    return row


def specials_of(dtype: str, position: int) -> tuple[Special, ...]:
    """No special, or one of the dtype's, at a place that changes with the position."""
    names = list(FORMATS[dtype].specials)
    if position == 0:
        return ()
    return (Special(PLACES[position % len(PLACES)], names[position % len(names)]),)


@cache
def _drafts() -> dict[str, tuple[Draft, ...]]:
    """Drafts for each relation: the relation is one of the factors."""
    names = tuple(RELATIONS)
    factors: tuple[Sequence[Any], ...] = (
        SIZES,
        range(SPECIALS),
        names,
        LOGITS_LAYOUTS,
        SURPLUSES,
        WRONG_BUFFER_DTYPES,
        LOGITS_DTYPES,
        BUFFER_LAYOUTS,
        DELTAS,
        POISONS,
        (False, True),
    )
    found: dict[str, list[Draft]] = {name: [] for name in names}
    for number, row in enumerate(pairwise(factors)):
        found[row[2]].append(_draft(number, row))
    return {name: tuple(drafts) for name, drafts in found.items()}


def _draft(number: int, row: tuple[Any, ...]) -> Draft:
    (rows, columns), special, _, logits, surplus, wrong, dtype, buffer, delta, poison, twist = row
    return Draft(
        rows=rows,
        columns=columns,
        delta=delta,
        surplus=surplus,
        dtype=dtype,
        logits_layout=logits,
        buffer_layout=buffer,
        wrong_dtype=wrong,
        specials=specials_of(dtype, special),
        poison=poison,
        seed=number + 1,
        twist=twist,
    )


def relation_drafts(name: str) -> tuple[Draft, ...]:
    """The drafts that the sweep makes of one relation."""
    return _drafts()[name]


@cache
def relation_cases(name: str) -> tuple[Case, ...]:
    """The sweep of one relation, small cases first."""
    drafts = [*relation_drafts(name), *_corners(name)]
    calls = [RELATIONS[name].build(draft) for draft in drafts]
    return tuple(single(name, call) for call in sorted(calls, key=_volume))


def _corners(name: str) -> list[Draft]:
    """Sizes that the array pairs with one dtype only, with every dtype: wide and tall, and a
    batch of 33 as large as in serving."""
    if name not in ("exact", "exact_after_narrowing", "no_buffer"):
        return []
    corners = [
        Draft(rows=rows, columns=columns, dtype=dtype, seed=17)
        for rows, columns in ((3, 151937), (4097, 5))
        for dtype in LOGITS_DTYPES
    ]
    return [*corners, Draft(rows=33, columns=131073, seed=19)]


def _volume(call: Call) -> int:
    return call.logits.rows * call.logits.columns
