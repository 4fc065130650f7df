"""Wrong memory: what the result lies in, and what else is written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from logitsbuf.mutants.registry import fits, guard, mutant, narrow, right_copy

if TYPE_CHECKING:
    from logitsbuf.mutants.registry import CopyFunction


_LARGE = 64  # rows; the scenarios that record costs and odd layouts have fewer


@mutant("COPY-REUSE", "COST-NO-ALLOC", reports=("NVIDIA/recsys-examples#439",))
def a_clone_is_returned() -> CopyFunction:
    """Fills the buffer and returns a copy of it."""

    def copy(logits: Tensor, buffer: Tensor | None, vocab_size: int) -> Tensor:
        result = right_copy(logits, buffer, vocab_size)
        return result.clone() if result is buffer else result

    return copy


@mutant("COPY-REUSE")
def a_large_match_is_cloned() -> CopyFunction:
    """Returns a copy of the buffer above 64 rows."""

    def copy(logits: Tensor, buffer: Tensor | None, vocab_size: int) -> Tensor:
        result = right_copy(logits, buffer, vocab_size)
        return result.clone() if result is buffer and len(result) > _LARGE else result

    return copy


@mutant("COPY-REUSE", "COPY-DTYPE-GUARD", "COPY-LAYOUT", "COST-NO-ALLOC")
def strided_buffer_is_ignored() -> CopyFunction:
    """Falls back where the buffer's rows are apart."""

    def copy(logits: Tensor, buffer: Tensor | None, vocab_size: int) -> Tensor:
        if buffer is not None and not buffer.is_contiguous():
            return narrow(logits, vocab_size).float()
        return right_copy(logits, buffer, vocab_size)

    return copy


@mutant("COPY-NO-ALIAS", "COPY-UNTOUCHED")
def fallback_in_the_buffer() -> CopyFunction:
    """Falls back into the buffer's memory where that is large enough."""

    def copy(logits: Tensor, buffer: Tensor | None, vocab_size: int) -> Tensor:
        narrowed = narrow(logits, vocab_size)
        if buffer is None or fits(buffer, narrowed) or buffer.dtype != torch.float32:
            return right_copy(logits, buffer, vocab_size)
        if not buffer.is_contiguous() or buffer.numel() < narrowed.numel():
            return narrowed.float()
        return buffer.view(-1)[: narrowed.numel()].view(narrowed.shape).copy_(narrowed)

    return copy


@mutant("COPY-UNTOUCHED")
def misfit_is_cleared() -> CopyFunction:
    """Clears a buffer that does not match."""

    def copy(logits: Tensor, buffer: Tensor | None, vocab_size: int) -> Tensor:
        if buffer is not None and not fits(buffer, narrow(logits, vocab_size)):
            buffer.zero_()
        return right_copy(logits, buffer, vocab_size)

    return copy


@mutant("COPY-UNTOUCHED", "COPY-DTYPE-GUARD")
def writes_before_the_guard() -> CopyFunction:
    """Writes, and only then refuses the dtype."""

    def copy(logits: Tensor, buffer: Tensor | None, vocab_size: int) -> Tensor:
        narrowed = narrow(logits, vocab_size)
        if buffer is None or not fits(buffer, narrowed):
            return narrowed.float()
        return guard(buffer.copy_(narrowed))

    return copy


@mutant("COPY-IN-BOUNDS", "COPY-LAYOUT", "COST-ONE-WRITE", reports=("vllm-project/vllm#41856",))
def spills_past_the_end() -> CopyFunction:
    """Writes one element past the end of a match."""

    def copy(logits: Tensor, buffer: Tensor | None, vocab_size: int) -> Tensor:
        result = right_copy(logits, buffer, vocab_size)
        if result is buffer and result.numel():
            _zero_at(
                result,
                result.storage_offset() + (len(result) - 1) * result.stride(0) + result.shape[1],
            )
        return result

    return copy


@mutant("COPY-IN-BOUNDS", "COPY-LAYOUT", "COST-ONE-WRITE", reports=("vllm-project/vllm#41856",))
def pads_between_rows() -> CopyFunction:
    """Clears the elements between the rows of a match."""

    def copy(logits: Tensor, buffer: Tensor | None, vocab_size: int) -> Tensor:
        result = right_copy(logits, buffer, vocab_size)
        if result is buffer and len(result) > 1 and result.stride(0) > result.shape[1]:
            _zero_at(result, result.storage_offset() + result.shape[1])
        return result

    return copy


def _zero_at(tensor: Tensor, offset: Any) -> None:
    """Write zero to one element of the tensor's storage, if it has that element."""
    if offset < tensor.untyped_storage().nbytes() // 4:
        tensor.as_strided((1,), (1,), offset).zero_()


@mutant("COPY-IN-BOUNDS", reports=("vllm-project/vllm#41856",))
def a_large_match_spills() -> CopyFunction:
    """Writes one element before a match of more than 64 rows."""

    def copy(logits: Tensor, buffer: Tensor | None, vocab_size: int) -> Tensor:
        result = right_copy(logits, buffer, vocab_size)
        if result is buffer and len(result) > _LARGE and result.storage_offset():
            _zero_at(result, result.storage_offset() - 1)
        return result

    return copy


@mutant("COPY-INPUT")
def large_padding_is_masked_in_place() -> CopyFunction:
    """Writes −inf into the padded columns of more than 64 rows that do not overlap."""

    def copy(logits: Tensor, buffer: Tensor | None, vocab_size: int) -> Tensor:
        apart = logits.stride(0) >= logits.shape[1] > vocab_size and len(logits) > _LARGE
        if apart and logits.dtype.itemsize > 1:
            logits[:, vocab_size:] = float("-inf")
        return right_copy(logits, buffer, vocab_size)

    return copy


@mutant("COPY-INPUT", "COPY-TOTAL", "COPY-VALUES", "COST-ONE-WRITE")
def padding_is_masked_in_place() -> CopyFunction:
    """Writes −inf into the padded columns of the logits."""

    def copy(logits: Tensor, buffer: Tensor | None, vocab_size: int) -> Tensor:
        if logits.shape[1] > vocab_size and logits.dtype.itemsize > 1:
            logits[:, vocab_size:] = float("-inf")
        return right_copy(logits, buffer, vocab_size)

    return copy


@mutant("COPY-SELF", "COST-ONE-WRITE")
def clears_before_copying() -> CopyFunction:
    """Clears a match first, which wipes logits that are the buffer."""

    def copy(logits: Tensor, buffer: Tensor | None, vocab_size: int) -> Tensor:
        narrowed = narrow(logits, vocab_size)
        if buffer is None or not fits(buffer, narrowed):
            return narrowed.float()
        guard(buffer).zero_()
        return buffer.copy_(narrowed)

    return copy


@mutant("COPY-SELF")
def the_buffer_itself_is_refused() -> CopyFunction:
    """Refuses logits that lie in the buffer."""

    def copy(logits: Tensor, buffer: Tensor | None, vocab_size: int) -> Tensor:
        if buffer is not None and logits.numel() and logits.data_ptr() == buffer.data_ptr():
            raise ValueError("logits and buffer are the same memory")
        return right_copy(logits, buffer, vocab_size)

    return copy
