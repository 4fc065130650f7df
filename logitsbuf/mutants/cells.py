"""Wrong values: which cells are read, and how they are converted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from logitsbuf.mutants.registry import fits, guard, mutant, narrow, right_copy

if TYPE_CHECKING:
    from collections.abc import Callable

    from logitsbuf.mutants.registry import CopyFunction


def _converting(convert: Callable[[Tensor], Tensor]) -> CopyFunction:
    """A right copy of logits that were converted wrongly before."""

    def copy(logits: Tensor, buffer: Tensor | None, vocab_size: int) -> Tensor:
        return right_copy(convert(narrow(logits, vocab_size)), buffer, vocab_size)

    return copy


@mutant("COPY-VALUES", "COST-NO-ALLOC")
def nan_is_cleaned() -> CopyFunction:
    """Replaces NaN by zero."""
    return _converting(lambda x: x.float().masked_fill(x.float().isnan(), 0.0))


@mutant("COPY-VALUES", "COST-NO-ALLOC")
def negative_zero_is_lost() -> CopyFunction:
    """Adds zero, which turns −0.0 into 0.0."""
    return _converting(lambda x: x.float() + 0.0)


@mutant("COPY-VALUES", "COST-NO-ALLOC")
def subnormals_are_flushed() -> CopyFunction:
    """Turns subnormal results into zero."""

    def convert(x: Tensor) -> Tensor:
        wide = x.float()
        return torch.where(wide.abs() < torch.finfo(torch.float32).tiny, wide * 0.0, wide)

    return _converting(convert)


@mutant("COPY-VALUES", "COST-NO-ALLOC")
def infinity_is_clamped() -> CopyFunction:
    """Clamps to the largest finite float32."""
    largest = torch.finfo(torch.float32).max
    return _converting(lambda x: x.float().clamp(-largest, largest))


@mutant("COPY-VALUES", "COST-NO-ALLOC")
def rounds_through_bfloat16() -> CopyFunction:
    """Takes a detour through bfloat16."""
    return _converting(lambda x: x.bfloat16())


@mutant("COPY-VALUES", "COST-NO-ALLOC")
def rounds_through_float16() -> CopyFunction:
    """Takes a detour through float16."""
    return _converting(lambda x: x.half())


@mutant(
    "COPY-VALUES",
    "COPY-LAYOUT",
    reports=("vllm-project/vllm#42684", "flashinfer-ai/flashinfer#4713"),
)
def stride_is_taken_for_width() -> CopyFunction:
    """Reads row r at r · width, whatever the row stride is (fallback only)."""

    def copy(logits: Tensor, buffer: Tensor | None, vocab_size: int) -> Tensor:
        if fits(buffer, narrow(logits, vocab_size)) or logits.stride(0) <= logits.shape[1]:
            return right_copy(logits, buffer, vocab_size)
        flat = logits.as_strided(logits.shape, (logits.shape[1], 1))
        return right_copy(flat, buffer, vocab_size)

    return copy


@mutant("COPY-VALUES", "COST-ONE-WRITE", reports=("vllm-project/vllm#41834",))
def only_the_first_row() -> CopyFunction:
    """Copies the first row of a match."""

    def copy(logits: Tensor, buffer: Tensor | None, vocab_size: int) -> Tensor:
        narrowed = narrow(logits, vocab_size)
        if buffer is None or not fits(buffer, narrowed) or len(narrowed) < 2:
            return right_copy(logits, buffer, vocab_size)
        guard(buffer).narrow(0, 0, 1).copy_(narrowed[:1])
        return buffer

    return copy


@mutant("COPY-VALUES", "COST-ONE-WRITE")
def last_column_is_missed() -> CopyFunction:
    """Copies all columns of a match but the last."""

    def copy(logits: Tensor, buffer: Tensor | None, vocab_size: int) -> Tensor:
        narrowed = narrow(logits, vocab_size)
        if buffer is None or not fits(buffer, narrowed):
            return narrowed.float()
        guard(buffer)[:, :-1].copy_(narrowed[:, :-1])
        return buffer

    return copy


@mutant("COPY-VALUES")
def wrong_above_65536_columns() -> CopyFunction:
    """A 16-bit column index wraps."""

    def copy(logits: Tensor, buffer: Tensor | None, vocab_size: int) -> Tensor:
        result = right_copy(logits, buffer, vocab_size)
        if result.shape[1] > 65536:
            result = result if result is buffer else result.clone()
            result[:, 65536:] = 0.0
        return result

    return copy


@mutant("COPY-FLOAT32")
def dtype_is_kept() -> CopyFunction:
    """Falls back without converting."""

    def copy(logits: Tensor, buffer: Tensor | None, vocab_size: int) -> Tensor:
        narrowed = narrow(logits, vocab_size)
        return right_copy(logits, buffer, vocab_size) if fits(buffer, narrowed) else narrowed

    return copy


@mutant("COPY-DEVICE")
def result_on_another_device() -> CopyFunction:
    """Falls back to a device that the logits are not on."""

    def copy(logits: Tensor, buffer: Tensor | None, vocab_size: int) -> Tensor:
        if fits(buffer, narrow(logits, vocab_size)):
            return right_copy(logits, buffer, vocab_size)
        return right_copy(logits, buffer, vocab_size).to("meta")

    return copy
