"""Situations a call can be made in, beyond the relation of its buffer to its logits.

Each takes drafts as the relations do, and changes the call: its mode, its layout, what it shares
memory with, what was called before it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType

from logitsbuf.case import SHARINGS, Call, Layout, Matrix, Mode, Sharing
from logitsbuf.relations import RELATIONS, Draft

BASES = ("exact", "no_buffer", "exact_after_narrowing", "more_rows", "wider_buffer")
"""Relations that a situation is tried on: a match, both kinds of it, and the fallback."""

SELVES: tuple[Sharing, ...] = SHARINGS[1:]


def under_mode(base: str, draft: Draft, mode: Mode) -> Call:
    """A call under a mode."""
    return replace(RELATIONS[base].build(draft), mode=mode)


def in_layout(base: str, draft: Draft, logits: Layout, buffer: Layout) -> Call:
    """A call whose logits, buffer or both are not rows of unit column stride."""
    call = RELATIONS[base].build(draft)
    target = call.buffer and replace(call.buffer, layout=buffer)
    source = logits if target or not logits.unit_columns else Layout("columns")
    return replace(call, logits=replace(call.logits, layout=source), buffer=target)


def into_itself(draft: Draft, sharing: Sharing) -> Call:
    """float32 logits, no wider than the vocabulary, that are the buffer."""
    # The stride of a single row means nothing, and torch itself changes it when it views.
    layout = draft.buffer_layout if draft.rows > 1 else replace(draft.buffer_layout, pad=0)
    matrix = Matrix(draft.rows, draft.columns, "float32", layout)
    specials = tuple(s for s in draft.specials if draft.dtype == "float32")
    return Call(
        logits=matrix,
        vocab_size=draft.columns + max(-draft.surplus, 0),
        buffer=matrix,
        seed=draft.seed,
        specials=specials,
        poison=draft.poison,
        sharing=sharing,
    )


def _plain(call: Call) -> Call:
    return replace(call, logits_of=None, buffer_of=None, mode="plain", freed=False)


def _again(call: Call, last: int) -> Call:
    return _plain(call)


def _same_tensors(call: Call, last: int) -> Call:
    return replace(_same_buffer(call, last), logits_of=_reusable(call.logits, last))


def _same_buffer(call: Call, last: int) -> Call:
    reused = None if call.buffer is None else _reusable(call.buffer, last)
    return replace(_plain(call), buffer_of=reused)


def _same_logits(call: Call, last: int) -> Call:
    return replace(_plain(call), logits_of=_reusable(call.logits, last))


def _reusable(matrix: Matrix, last: int) -> int | None:
    return last if matrix.layout.kind == "rows" else None


def _fewer_rows(call: Call, last: int) -> Call:
    """A smaller row bucket: prefixes of the same two tensors."""
    if call.logits.rows < 2 or (call.buffer is not None and call.buffer.rows < 2):
        return _same_tensors(call, last)
    shorter = _same_tensors(call, last)
    buffer = shorter.buffer and replace(shorter.buffer, rows=shorter.buffer.rows - 1)
    return replace(shorter, logits=_shorter(shorter.logits), buffer=buffer)


def _shorter(matrix: Matrix) -> Matrix:
    return replace(matrix, rows=matrix.rows - 1)


def _no_buffer(call: Call, last: int) -> Call:
    return replace(_plain(call), buffer=None)


def _misfit(call: Call, last: int) -> Call:
    rows, columns = call.narrowed
    return replace(_plain(call), buffer=Matrix(rows + 1, columns))


def _match(call: Call, last: int) -> Call:
    rows, columns = call.narrowed
    return replace(_plain(call), buffer=Matrix(rows, columns))


def _refused(call: Call, last: int) -> Call:
    rows, columns = call.narrowed
    return replace(_plain(call), buffer=Matrix(rows, columns, "bfloat16"))


def _other_dtype(call: Call, last: int) -> Call:
    dtype = "float16" if call.logits.dtype != "float16" else "bfloat16"
    return replace(_plain(call), logits=replace(call.logits, dtype=dtype), specials=())


def _other_rows(call: Call, last: int) -> Call:
    """One row more on both sides: a larger batch of the same width."""
    buffer = call.buffer and replace(call.buffer, rows=call.buffer.rows + 1)
    logits = replace(call.logits, rows=call.logits.rows + 1)
    return replace(_plain(call), logits=logits, buffer=buffer)


def _other_vocabulary(call: Call, last: int) -> Call:
    """The same width, of which one column fewer is vocabulary."""
    vocab_size = max(call.narrowed[1] - 1, 1)
    fits = call.buffer is not None and call.matches
    buffer = Matrix(call.logits.rows, min(vocab_size, call.logits.columns)) if fits else None
    return replace(_plain(call), vocab_size=vocab_size, buffer=buffer)


def _freed(call: Call, last: int) -> Call:
    """The same shapes where the last tensors were: an allocator gives their addresses again."""
    return replace(_plain(call), freed=True)


def _inference(call: Call, last: int) -> Call:
    return replace(_plain(call), mode="inference_mode")


STEPS: Mapping[str, Callable[[Call, int], Call]] = MappingProxyType(
    {
        "again": _again,
        "same_tensors": _same_tensors,
        "same_buffer": _same_buffer,
        "same_logits": _same_logits,
        "fewer_rows": _fewer_rows,
        "no_buffer": _no_buffer,
        "misfit": _misfit,
        "match": _match,
        "refused": _refused,
        "other_dtype": _other_dtype,
        "other_rows": _other_rows,
        "other_vocabulary": _other_vocabulary,
        "freed": _freed,
        "inference": _inference,
    }
)
"""What the next call of a sequence may be, from the last call and its index."""


def sequence(first: Call, steps: tuple[str, ...]) -> tuple[Call, ...]:
    """A first call and one more for each step, each with new content."""
    calls = [first]
    for index, step in enumerate(steps):
        made = STEPS[step](calls[-1], index)
        calls.append(replace(made, seed=first.seed + index + 1))
    return tuple(calls)
