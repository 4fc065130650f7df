"""Right implementations in styles other than the reference's. Nothing may flag them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
import torch.utils.dlpack
from torch import Tensor

from logitsbuf.mutants.registry import fits, narrow, right

if TYPE_CHECKING:
    from logitsbuf.mutants.registry import CopyFunction


@right()
def as_in_sglang() -> CopyFunction:
    """Asserts its dtype, as SGLang does from 0.5.15 on."""

    def copy(logits: Tensor, buffer: Tensor | None, vocab_size: int) -> Tensor:
        if logits.shape[-1] > vocab_size:
            logits = logits[:, :vocab_size]
        if buffer is None or buffer.shape != logits.shape:
            return logits.float()
        if buffer.dtype != torch.float32:
            raise AssertionError("float32 expected")
        buffer.copy_(logits)
        return buffer

    return copy


@right("COST-ONE-WRITE")
def with_out_argument() -> CopyFunction:
    """Writes a match through ``out=``, and a fallback into new contiguous memory."""

    def copy(logits: Tensor, buffer: Tensor | None, vocab_size: int) -> Tensor:
        narrowed = logits.narrow(1, 0, min(vocab_size, logits.size(1)))
        if buffer is None or list(buffer.size()) != list(narrowed.size()):
            return narrowed.to(torch.float32, copy=True, memory_format=torch.contiguous_format)
        if buffer.dtype is not torch.float32:
            raise RuntimeError("a float32 buffer is needed")
        return torch.Tensor.copy_(buffer, narrowed)

    return copy


@right("COST-ONE-WRITE")
def over_dlpack() -> CopyFunction:
    """Returns a foreign tensor over the buffer's bytes."""

    def copy(logits: Tensor, buffer: Tensor | None, vocab_size: int) -> Tensor:
        narrowed = narrow(logits, vocab_size)
        if buffer is None or not fits(buffer, narrowed):
            return narrowed.detach().to(torch.float32)
        if buffer.dtype != torch.float32:
            raise ValueError("dtype")
        buffer.copy_(narrowed)
        return buffer if buffer.is_inference() else torch.utils.dlpack.from_dlpack(buffer)

    return copy


@right("COST-ONE-WRITE")
def with_a_view_of_the_buffer() -> CopyFunction:
    """Returns another tensor object over the buffer, and allocates its fallback itself."""

    def copy(logits: Tensor, buffer: Tensor | None, vocab_size: int) -> Tensor:
        narrowed = narrow(logits, vocab_size)
        if buffer is None or not fits(buffer, narrowed):
            fresh = torch.empty(narrowed.shape, dtype=torch.float32, device=narrowed.device)
            return fresh.copy_(narrowed)
        if buffer.dtype != torch.float32:
            raise TypeError("the buffer must be float32")
        target = buffer.view(buffer.shape)
        target[...] = narrowed
        return target

    return copy


@right("COST-ONE-WRITE")
def row_by_row() -> CopyFunction:
    """Copies one row after the other."""

    def copy(logits: Tensor, buffer: Tensor | None, vocab_size: int) -> Tensor:
        rows, columns = logits.shape[0], min(logits.shape[1], vocab_size)
        if buffer is not None and tuple(buffer.shape) == (rows, columns):
            if buffer.dtype != torch.float32:
                raise BufferError("float32 buffers only")
            target = buffer
        else:
            target = logits.new_empty((rows, columns), dtype=torch.float32)
        for row in range(rows):
            target[row].copy_(logits[row, :columns])
        return target

    return copy
