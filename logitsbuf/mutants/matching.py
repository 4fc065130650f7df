"""Wrong decisions: when does a buffer match, and what is cut off before it is asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from logitsbuf.mutants.registry import guard, mutant, narrow, right_copy

if TYPE_CHECKING:
    from logitsbuf.mutants.registry import CopyFunction

_BROADCAST = ("COPY-TOTAL", "COPY-SHAPE", "COPY-NO-ALIAS", "COPY-UNTOUCHED")
_UPSTREAM = ("sgl-project/sglang#29943",)


@mutant(*_BROADCAST, reports=_UPSTREAM)
def any_buffer_matches() -> CopyFunction:
    """Copies into whatever buffer there is: torch refuses most shapes and broadcasts some."""

    def copy(logits: Tensor, buffer: Tensor | None, vocab_size: int) -> Tensor:
        narrowed = narrow(logits, vocab_size)
        if buffer is None:
            return narrowed.float()
        assert buffer.dtype == torch.float32
        buffer.copy_(narrowed)
        return buffer

    return copy


@mutant(*_BROADCAST, reports=_UPSTREAM)
def rows_only_match() -> CopyFunction:
    """Compares row counts and forgets the width: one column is broadcast over a wide buffer."""

    def copy(logits: Tensor, buffer: Tensor | None, vocab_size: int) -> Tensor:
        narrowed = narrow(logits, vocab_size)
        if buffer is None or buffer.shape[0] != narrowed.shape[0]:
            return narrowed.float()
        return guard(buffer).copy_(narrowed)

    return copy


@mutant(*_BROADCAST, reports=_UPSTREAM)
def width_only_match() -> CopyFunction:
    """Compares widths and forgets the rows: one row is broadcast over a large buffer."""

    def copy(logits: Tensor, buffer: Tensor | None, vocab_size: int) -> Tensor:
        narrowed = narrow(logits, vocab_size)
        if buffer is None or buffer.shape[1] != narrowed.shape[1]:
            return narrowed.float()
        return guard(buffer).copy_(narrowed)

    return copy


@mutant("COPY-SHAPE", "COPY-NO-ALIAS", "COPY-UNTOUCHED", "COST-ONE-WRITE")
def element_count_match() -> CopyFunction:
    """Takes any buffer with as many elements, and refills it in its own shape."""

    def copy(logits: Tensor, buffer: Tensor | None, vocab_size: int) -> Tensor:
        narrowed = narrow(logits, vocab_size)
        if buffer is None or buffer.numel() != narrowed.numel():
            return narrowed.float()
        return guard(buffer).copy_(narrowed.reshape(buffer.shape))

    return copy


@mutant("COPY-NO-ALIAS", "COPY-UNTOUCHED", "COST-ONE-WRITE")
def larger_buffer_is_used() -> CopyFunction:
    """Uses a corner of a larger buffer, so that two runners share bytes."""

    def copy(logits: Tensor, buffer: Tensor | None, vocab_size: int) -> Tensor:
        narrowed = narrow(logits, vocab_size)
        rows, columns = narrowed.shape
        wide = buffer is not None and buffer.dtype == torch.float32
        if wide and buffer is not None and buffer.shape[0] >= rows and buffer.shape[1] >= columns:
            return buffer[:rows, :columns].copy_(narrowed)
        return right_copy(logits, buffer, vocab_size)

    return copy


@mutant("COPY-SHAPE")
def padding_is_kept() -> CopyFunction:
    """Never drops the padded columns in the fallback."""

    def copy(logits: Tensor, buffer: Tensor | None, vocab_size: int) -> Tensor:
        narrowed = narrow(logits, vocab_size)
        if buffer is None or buffer.shape != narrowed.shape:
            return logits.float()
        return guard(buffer).copy_(narrowed)

    return copy


@mutant(
    "COPY-TOTAL",
    "COPY-REUSE",
    "COPY-SHAPE",
    "COPY-NO-ALIAS",
    "COPY-UNTOUCHED",
    "COPY-DTYPE-GUARD",
    "COST-NO-ALLOC",
)
def compares_before_narrowing() -> CopyFunction:
    """Asks whether the padded logits fit, then drops the padding."""

    def copy(logits: Tensor, buffer: Tensor | None, vocab_size: int) -> Tensor:
        if buffer is None or buffer.shape != logits.shape:
            return narrow(logits, vocab_size).float()
        return guard(buffer).copy_(logits)

    return copy


@mutant("COPY-TOTAL", reports=("sgl-project/sglang#28856",))
def refuses_a_misfit() -> CopyFunction:
    """Raises where it should fall back."""

    def copy(logits: Tensor, buffer: Tensor | None, vocab_size: int) -> Tensor:
        if buffer is not None and buffer.shape != narrow(logits, vocab_size).shape:
            raise ValueError("the logits do not fit the buffer")
        return right_copy(logits, buffer, vocab_size)

    return copy


@mutant("COPY-TOTAL", reports=_UPSTREAM)
def guards_before_matching() -> CopyFunction:
    """Refuses a buffer that is not float32 even where it is not used."""

    def copy(logits: Tensor, buffer: Tensor | None, vocab_size: int) -> Tensor:
        if buffer is not None:
            guard(buffer)
        return right_copy(logits, buffer, vocab_size)

    return copy


@mutant("COPY-TOTAL", reports=("vllm-project/vllm-ascend#1133",))
def zero_rows_fail() -> CopyFunction:
    """Has no answer for an idle rank."""

    def copy(logits: Tensor, buffer: Tensor | None, vocab_size: int) -> Tensor:
        if logits.shape[0] == 0:
            raise IndexError("no rows")
        return right_copy(logits, buffer, vocab_size)

    return copy


@mutant("COPY-DTYPE-GUARD")
def no_dtype_guard() -> CopyFunction:
    """Copies into a matching buffer of any dtype."""

    def copy(logits: Tensor, buffer: Tensor | None, vocab_size: int) -> Tensor:
        narrowed = narrow(logits, vocab_size)
        if buffer is None or buffer.shape != narrowed.shape:
            return narrowed.float()
        return buffer.copy_(narrowed)

    return copy


@mutant("COPY-LAYOUT")
def layout_is_guessed() -> CopyFunction:
    """Reads column-major logits as if they were row-major."""

    def copy(logits: Tensor, buffer: Tensor | None, vocab_size: int) -> Tensor:
        if logits.stride(1) != 1 and logits.shape[1] > 1:
            logits = logits.as_strided(logits.shape, (logits.shape[1], 1))
        return right_copy(logits, buffer, vocab_size)

    return copy
