"""What Hypothesis draws: records of free choices, from which a relation or situation makes a call.

Every strategy is made once, here, and each property draws in one composite: nine tenths of an
example's time goes into drawing. Design section 2.1 says what is inside the contract.
"""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import strategies as st

from logitsbuf.case import MODES, PLACES, POISONS, Call, Case, Layout, Special, single
from logitsbuf.formats import FORMATS, LOGITS_DTYPES, WRONG_BUFFER_DTYPES
from logitsbuf.relations import RELATIONS, Draft
from logitsbuf.situations import BASES, SELVES, STEPS, in_layout, into_itself, sequence, under_mode
from logitsbuf.sweep import EXOTIC_LAYOUTS

_CELLS = 1 << 12  # of a drawn tensor with more than one row; the sweep has larger ones

# One choice each, weighted by repetition: a nested strategy costs as much as another choice.
_rows = st.sampled_from((*(1, 2, 3) * 3, 1, 2, *range(4, 10), 4, 5, 6, 16, 17, 33, 65, 129, 257))
_columns = st.sampled_from(
    (
        *(*range(1, 10), *range(1, 10), *range(1, 33), *range(1, 65), 100, 127, 128, 129, 255, 257),
        *(1000, 1024, 1025, 4097, 32000),
    )
)
_deltas = st.sampled_from((1, 1, 1, 2, 2, 3, 4, 7, 8, 63, 64))
_surpluses = st.sampled_from(
    (0, 0, 0, 1, 1, -1, -1, 2, -2, 3, -3, 7, -7, 13, -40, 63, 64, 128, -1000)
)
_dtypes = st.sampled_from(LOGITS_DTYPES)
_wrong_dtypes = st.sampled_from(WRONG_BUFFER_DTYPES)
_buffer_layouts = tuple(
    Layout("rows", pad, offset, tight)
    for pad in (0, 0, 1, 2, 3, 8, 61)
    for offset, tight in ((0, False), (1, False), (4, False), (7, False), (0, True))
)
_logits_layouts = st.sampled_from(
    (*_buffer_layouts, *(Layout(kind, 0, i) for kind in ("repeat", "overlap") for i in (0, 1, 8)))
)
_rows_layouts = st.sampled_from(_buffer_layouts)
_specials = {
    dtype: st.sampled_from(
        ((),) * 20 + tuple((Special(p, v),) for p in PLACES for v in fmt.specials)
    )
    for dtype, fmt in FORMATS.items()
    if fmt.specials
}
_poisons = st.sampled_from(POISONS)
_seeds = st.integers(1, 999)
_booleans = st.booleans()
_modes = st.sampled_from(MODES[1:])
_bases = st.sampled_from(BASES)
_selves = st.sampled_from(SELVES)
_exotic = st.sampled_from(EXOTIC_LAYOUTS)
_steps = st.lists(st.sampled_from(tuple(STEPS)), min_size=1, max_size=9).map(tuple)
_relations = st.sampled_from(tuple(RELATIONS))


@st.composite
def drafts(draw: st.DrawFn, *, small: bool = False) -> Draft:
    """Free choices for one call."""
    columns = min(draw(_columns), 40 if small else 1 << 18)
    room = 6 if small else max(_CELLS // columns, 1)
    dtype = draw(_dtypes)
    return Draft(
        rows=min(draw(_rows), room),
        columns=columns,
        delta=min(draw(_deltas), room),
        surplus=draw(_surpluses),
        dtype=dtype,
        logits_layout=draw(_logits_layouts),
        buffer_layout=draw(_rows_layouts),
        wrong_dtype=draw(_wrong_dtypes),
        specials=draw(_specials[dtype]) + draw(_specials[dtype]),
        poison=draw(_poisons),
        seed=draw(_seeds),
        twist=draw(_booleans),
    )


_any_draft = drafts()
_small_draft = drafts(small=True)


def relation(name: str) -> st.SearchStrategy[Case]:
    """Cases of one relation."""
    build: Callable[[Draft], Call] = RELATIONS[name].build
    return _any_draft.map(lambda draft: single(name, build(draft)))


@st.composite
def modes(draw: st.DrawFn) -> Case:
    """A base relation under any mode but the plain one."""
    return single("modes", under_mode(draw(_bases), draw(_small_draft), draw(_modes)))


@st.composite
def layouts(draw: st.DrawFn) -> Case:
    """At least one tensor that is not rows of unit column stride."""
    base, draft = draw(_bases), draw(_small_draft)
    logits = draw(_exotic) if draw(_booleans) else Layout()
    buffer = draw(_exotic) if logits.unit_columns or draw(_booleans) else Layout()
    return single("layouts", in_layout(base, draft, logits, buffer))


@st.composite
def selves(draw: st.DrawFn) -> Case:
    """float32 logits that are the buffer."""
    return single("logits_are_buffer", into_itself(draw(_any_draft), draw(_selves)))


@st.composite
def repeated(draw: st.DrawFn) -> Case:
    """Two to ten calls."""
    first = RELATIONS[draw(_bases)].build(draw(_small_draft))
    return Case("repeated_calls", sequence(first, draw(_steps)))


@st.composite
def any_relation(draw: st.DrawFn, scenario: str) -> Case:
    """A small call of any relation, for a scenario that looks at something else."""
    return single(scenario, RELATIONS[draw(_relations)].build(draw(_small_draft)))
