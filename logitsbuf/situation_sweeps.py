"""The sweep of each situation."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import product

from logitsbuf.case import MODES, PATTERNS_SEED, Call, Case, Layout, Matrix, Special, single
from logitsbuf.formats import FORMATS, LOGITS_DTYPES
from logitsbuf.relations import RELATIONS, Draft
from logitsbuf.situations import BASES, SELVES, STEPS, in_layout, into_itself, sequence, under_mode
from logitsbuf.sweep import BUFFER_LAYOUTS, EXOTIC_LAYOUTS, pairwise, specials_of

SMALL = ((2, 3), (3, 2), (1, 4), (4, 1), (1, 1), (5, 17))


def _draft(number: int, dtype: str, surplus: int = 0, special: int = 0) -> Draft:
    rows, columns = SMALL[number % len(SMALL)]
    return Draft(
        rows=rows,
        columns=columns,
        surplus=surplus,
        dtype=dtype,
        specials=specials_of(dtype, special),
        seed=number + 1,
    )


@cache
def mode_cases() -> tuple[Case, ...]:
    """Every mode with every base relation and every dtype."""
    rows = pairwise((MODES[1:], LOGITS_DTYPES, BASES, (0, 1, -1)))
    return tuple(
        single("modes", under_mode(base, _draft(i, dtype, surplus), mode))
        for i, (mode, dtype, base, surplus) in enumerate(rows)
    )


@cache
def layout_cases() -> tuple[Case, ...]:
    """Column-major and stepped logits, buffers, and both."""
    plain, exotic = Layout(), EXOTIC_LAYOUTS
    pairs = [*product(exotic, (plain,)), *product((plain,), exotic), *product(exotic, exotic)]
    rows = pairwise((tuple(pairs), LOGITS_DTYPES, BASES, (0, 1, -1)))
    calls = [
        in_layout(base, _draft(i, dtype, surplus), *layouts)
        for i, (layouts, dtype, base, surplus) in enumerate(rows)
    ]
    # Twelve columns and twenty rows leave room for a kernel's blocks of eight.
    calls += [
        in_layout(base, Draft(rows=20, columns=12, dtype=dtype, seed=7), *layouts)
        for base, dtype in (("exact", "bfloat16"), ("no_buffer", "float32"))
        for layouts in pairs[:8]
    ]
    return tuple(single("layouts", call) for call in calls if call.exotic_layout)


@cache
def self_cases() -> tuple[Case, ...]:
    """Every way to share, every layout, every special of float32."""
    rows = pairwise((range(16), range(len(SMALL)), BUFFER_LAYOUTS, SELVES, (0, -1, -64)))
    return tuple(
        single("logits_are_buffer", _self_call(special, size, layout, sharing, surplus))
        for special, size, layout, sharing, surplus in rows
    )


def _self_call(special: int, size: int, layout: Layout, sharing: str, surplus: int) -> Call:
    rows, columns = SMALL[size]
    draft = Draft(
        rows=rows,
        columns=columns,
        surplus=surplus,
        dtype="float32",
        buffer_layout=layout,
        specials=specials_of("float32", special),
        seed=special + 1,
    )
    return into_itself(draft, sharing)  # type: ignore[arg-type]


@cache
def repeated_cases() -> tuple[Case, ...]:
    """Every step after every base relation, every two steps together, and long repetitions."""
    bases = ("exact", "no_buffer", "exact_after_narrowing", "more_rows")
    pairs = pairwise((tuple(STEPS), tuple(STEPS), LOGITS_DTYPES, bases))
    cases = [
        _sequence(i, base, dtype, (first, second))
        for i, (first, second, dtype, base) in enumerate(pairs[::2])
    ]
    cases += [
        _sequence(i, base, "bfloat16", (step,))
        for i, (base, step) in enumerate(product(bases, STEPS))
    ]
    long = [(step,) * 8 for step in ("again", "same_tensors", "same_buffer", "other_rows")]
    cases += [
        _sequence(1, base, dtype, steps)
        for base, dtype in (("exact", "bfloat16"), ("no_buffer", "float32"))
        for steps in long
    ]
    cases += _inference_first()
    return tuple(sorted(cases, key=lambda case: len(case.calls)))


def _inference_first() -> list[Case]:
    """What is made inside inference mode must not be needed outside of it. New shapes each, since
    a scratch that was made outside before would hide it."""
    found = []
    for i, (base, step) in enumerate(product(BASES, ("again", "same_tensors", "no_buffer"))):
        call = RELATIONS[base].build(Draft(rows=7, columns=11 + i, seed=i + 1))
        steps = sequence(replace(call, mode="inference_mode"), (step,))
        found.append(Case("repeated_calls", steps))
    return found


def _sequence(number: int, base: str, dtype: str, steps: tuple[str, ...]) -> Case:
    draft = _draft(number, dtype, surplus=number % 3 - 1)
    return Case("repeated_calls", sequence(RELATIONS[base].build(draft), steps))


@cache
def cost_cases() -> tuple[Case, ...]:
    """What is recorded: matches and fallbacks of every dtype and special."""
    bases = (*BASES, "one_row_logits", "wrong_dtype_misfit")
    rows = pairwise((range(18), bases, LOGITS_DTYPES, BUFFER_LAYOUTS, (0, 1, -1)))
    drafts = [
        (base, _draft(i, dtype, surplus, special), layout)
        for i, (special, base, dtype, layout, surplus) in enumerate(rows)
    ]
    return tuple(single("cost", _relation_call(*draft)) for draft in drafts)


def _relation_call(base: str, draft: Draft, layout: Layout) -> Call:
    call = RELATIONS[base].build(draft)
    if call.buffer is None:
        return call
    buffer = Matrix(*call.buffer.shape, call.buffer.dtype, layout)
    return Call(call.logits, call.vocab_size, buffer, call.seed, call.specials, call.poison)


@cache
def pattern_cases() -> tuple[Case, ...]:
    """Every bit pattern of each 8- and 16-bit format (a sample of wider ones), on both paths."""
    cases = []
    for dtype in LOGITS_DTYPES:
        side = 1 << min(FORMATS[dtype].bits, 16) // 2
        for rows, columns in ((side, side), (1, side * side)):
            logits = Matrix(rows, columns, dtype)
            for buffer in (None, Matrix(rows, columns)):
                call = Call(logits, columns, buffer, seed=PATTERNS_SEED)
                cases.append(single("bit_patterns", call))
    return tuple(cases)


@cache
def special_cases() -> tuple[Case, ...]:
    """Every special of every dtype, on both paths."""
    named = [(dtype, value) for dtype in LOGITS_DTYPES for value in FORMATS[dtype].specials]
    return tuple(
        single(
            "specials", Call(Matrix(1, 2, dtype), 2, buffer, specials=(Special("first", value),))
        )
        for dtype, value in named
        for buffer in (Matrix(1, 2), None)
    )
