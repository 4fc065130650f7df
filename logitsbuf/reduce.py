"""Make a counterexample small: fewer calls, plainer choices, smaller numbers.

Cases are plain data, so a reducer needs only to propose simpler ones and keep what still fails.
Every proposal is simpler in an order that has no cycles: calls, then choices towards their
defaults, then sizes; so a pass without success is the end.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

from logitsbuf.case import (
    PATTERNS_SEED,
    Call,
    Case,
    Layout,
    Matrix,
    Special,
    last_alone,
    without_calls,
)
from logitsbuf.caseformat import check
from logitsbuf.errors import UsageError
from logitsbuf.formats import FORMATS

Fails = Callable[[Case], bool]

SIMPLEST_DTYPES = ("float32", "bfloat16", "float16", "float64", "float8_e5m2", "float8_e4m3fn")
"""From the plainest to the oddest; a buffer that is no float32 is bfloat16 where that will do."""

_ALL_ALIVE = 50  # calls; watching the tensors of more than that takes longer than the calls

FILLER = Call(Matrix(1, 1), 1)
"""The plainest call: what stands for a call of which only the number matters."""


def reduce(case: Case, fails: Fails, admits: Fails, seconds: float = 2.0) -> Case:
    """The simplest case found in time that still fails and stands in its scenario."""
    deadline = time.monotonic() + seconds
    improved = True
    while improved and time.monotonic() < deadline:
        improved = False
        for proposals in (_fewer_calls, _plainer, _smaller):
            smaller = _exhaust(case, proposals, fails, admits, deadline)
            improved |= smaller != case
            case = smaller
    return case


def _exhaust(
    case: Case,
    proposals: Callable[[Case], Iterator[Case]],
    fails: Fails,
    admits: Fails,
    deadline: float,
) -> Case:
    """Take proposals of one kind until none succeeds."""
    progress = True
    while progress:
        progress = False
        for proposal in proposals(case):
            if time.monotonic() > deadline:
                return case
            if proposal != case and _valid(proposal) and admits(proposal) and fails(proposal):
                case, progress = proposal, True
                break
    return case


def _valid(case: Case) -> bool:
    try:
        check(case)
    except UsageError:
        return False
    return True


def _fewer_calls(case: Case) -> Iterator[Case]:
    """The last call alone (it is the one that fails), without runs of calls, without each."""
    count = len(case.calls)
    if count == 1:
        return
    yield last_alone(case)
    kept = 1
    while 2 * kept < count:  # short sequences first: they are quick to make
        yield without_calls(case, 0, count - 1 - kept)
        yield without_calls(case, kept, count - 1)
        kept *= 2
    run = count // 2
    while run:
        for start in range(0, count - run + 1, run):
            yield without_calls(case, start, start + run)
        run //= 2


def _plainer(case: Case) -> Iterator[Case]:
    """One choice of one call, or the same choice of all calls, replaced by a plainer one."""
    if len(case.calls) > 1:
        yield from _plainer_sequences(case)
    for index, call in enumerate(case.calls):
        for simpler in _plainer_calls(call):
            yield _with_call(case, index, simpler)


def _plainer_sequences(case: Case) -> Iterator[Case]:
    last = replace(case.calls[-1], logits_of=None, buffer_of=None)
    count = len(case.calls)
    if count <= _ALL_ALIVE:
        yield replace(case, calls=tuple(replace(call, freed=False) for call in case.calls))
    filler = replace(FILLER, freed=count > _ALL_ALIVE)
    for earlier in (filler, last):
        calls = (*(earlier,) * (count - 1), case.calls[-1])
        if _cost(calls) < _cost(case.calls):
            yield replace(case, calls=calls)
    for index in range(count - 1):
        if case.calls[index] != filler:
            yield _with_call(case, index, filler)


def _cost(calls: tuple[Call, ...]) -> int:
    """A measure that falls: without it two forms of a sequence would take turns."""
    return sum(len(repr(call)) + call.logits.rows * call.logits.columns for call in calls)


def _with_call(case: Case, index: int, call: Call) -> Case:
    return replace(case, calls=(*case.calls[:index], call, *case.calls[index + 1 :]))


def _plainer_calls(call: Call) -> Iterator[Call]:
    plain = replace(call, specials=(), poison="finite", seed=0)
    yield replace(_plain_layouts(plain), mode="plain")
    yield plain
    yield replace(call, specials=())
    for index in range(len(call.specials)):
        yield replace(call, specials=call.specials[:index] + call.specials[index + 1 :])
    for special in call.specials:
        if special.place not in ("first", "all"):
            yield replace(call, specials=(replace(special, place="first"),))
    yield from (replace(call, poison="finite"), replace(call, mode="plain"))
    yield from (replace(call, buffer_of=None), replace(call, logits_of=None))
    yield replace(call, freed=False)
    yield from _plainer_seeds(call)
    yield from _plainer_sharings(call)
    yield from _plainer_dtypes(call)
    yield from _plainer_layouts(call)


def _plainer_seeds(call: Call) -> Iterator[Call]:
    if call.seed == PATTERNS_SEED:  # a special says in a word what a pattern says in bits
        for value in FORMATS[call.logits.dtype].specials:
            yield replace(call, seed=0, specials=(Special("first", value),))
    if call.seed:
        yield replace(call, seed=0)
    if call.seed > 1:
        yield replace(call, seed=1)


def _plainer_sharings(call: Call) -> Iterator[Call]:
    if call.sharing in ("same_bytes", "dlpack"):
        yield replace(call, sharing="same_object")


def _plainer_dtypes(call: Call) -> Iterator[Call]:
    if call.logits.dtype in SIMPLEST_DTYPES and call.sharing == "separate":
        for dtype in SIMPLEST_DTYPES[: SIMPLEST_DTYPES.index(call.logits.dtype)]:
            yield replace(call, logits=replace(call.logits, dtype=dtype))
    if call.buffer is not None and call.buffer.dtype not in ("float32", "bfloat16"):
        yield replace(call, buffer=replace(call.buffer, dtype="bfloat16"))


def _plain_layouts(call: Call) -> Call:
    buffer = call.buffer and replace(call.buffer, layout=Layout())
    return replace(call, logits=replace(call.logits, layout=Layout()), buffer=buffer)


def _plainer_layouts(call: Call) -> Iterator[Call]:
    yield _plain_layouts(call)
    both = call.sharing != "separate"
    for layout in _layouts_below(call.logits.layout):
        logits = replace(call.logits, layout=layout)
        yield replace(call, logits=logits, buffer=logits if both else call.buffer)
    if call.buffer is not None and not both:
        for layout in _layouts_below(call.buffer.layout):
            yield replace(call, buffer=replace(call.buffer, layout=layout))


def _layouts_below(layout: Layout) -> Iterator[Layout]:
    if layout != Layout():
        yield Layout()
    if layout.kind in ("step", "overlap"):
        yield replace(layout, kind="columns" if layout.kind == "step" else "repeat")
    yield replace(layout, tight=False)
    for pad in (0, 1):
        if layout.pad > pad:
            yield replace(layout, pad=pad)
    for offset in (0, 1):
        if layout.offset > offset:
            yield replace(layout, offset=offset)


def _smaller(case: Case) -> Iterator[Case]:
    """Every row count, column count and vocabulary of the case, alone and with its equals."""
    for old in sorted(set(_numbers(case)), reverse=True):
        for new in _below(old):
            for rows, columns in ((True, True), (False, True), (True, False)):
                yield _mapped(case, rows, columns, partial(_equals, old, new))
                yield _mapped(case, rows, columns, partial(_those_above, old, new))
    for index, call in enumerate(case.calls):
        for simpler in _smaller_fields(call):
            yield _with_call(case, index, simpler)


def _equals(old: int, new: int, number: int) -> int:
    return new if number == old else number


def _those_above(old: int, new: int, number: int) -> int:
    """The number, moved down by as much as the old one: distances stay."""
    return number - (old - new) if number >= old else number


def _numbers(case: Case) -> Iterator[int]:
    for call in case.calls:
        yield call.vocab_size
        for matrix in call.matrices:
            yield from matrix.shape


def _below(number: int) -> Iterator[int]:
    """Towards one; the steps halve, so that a threshold is found in few tries."""
    yield from (small for small in (1, 2, 3) if small < number)
    step = number // 2
    while step:
        if number - step > 3:
            yield number - step
        step //= 2


def _mapped(case: Case, rows: bool, columns: bool, change: Callable[[int], int]) -> Case:
    def matrix(old: Matrix) -> Matrix:
        return replace(
            old,
            rows=change(old.rows) if rows else old.rows,
            columns=change(old.columns) if columns else old.columns,
        )

    def call(old: Call) -> Call:
        vocab_size = change(old.vocab_size) if columns else old.vocab_size
        buffer = old.buffer and matrix(old.buffer)
        return replace(old, logits=matrix(old.logits), buffer=buffer, vocab_size=vocab_size)

    return replace(case, calls=tuple(call(old) for old in case.calls))


def _smaller_fields(call: Call) -> Iterator[Call]:
    for new in _below(call.vocab_size):
        yield replace(call, vocab_size=new)
    if call.sharing != "separate":
        return
    for logits in _smaller_matrices(call.logits):
        yield replace(call, logits=logits)
    if call.buffer is not None:
        for buffer in _smaller_matrices(call.buffer):
            yield replace(call, buffer=buffer)


def _smaller_matrices(matrix: Matrix) -> Iterator[Matrix]:
    for rows in _below(matrix.rows):
        yield replace(matrix, rows=rows)
    for columns in _below(matrix.columns):
        yield replace(matrix, columns=columns)
