"""Tensors inside guarded storages.

Every tensor of a case is a view into a larger byte storage: poison before it, after it, between
its rows. One comparison of whole storages then shows wrong values, stray writes and touched
inputs alike.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass

import torch

from logitsbuf import torchrefs as t
from logitsbuf.case import Call, Case, Matrix, Poison
from logitsbuf.formats import FORMATS
from logitsbuf.values import fill

GUARD = 64
"""Guard bytes on each side of a tensor: a cache line, and a multiple of every itemsize."""

POISON_BYTES: dict[Poison, int] = {"finite": 0xA5, "nan": 0xFF, "large": 0x7E}
"""What each byte of a poison is: as float32 -2.9e-16, NaN and 8.5e37. No fill gives any of them."""


@dataclass(frozen=True)
class Block:
    """One tensor and the storage around it.

    storage: uint8, one-dimensional, all bytes including guards. tensor: what the implementation
    gets, and may disfigure. front: bytes from the storage's start to the first element.
    """

    matrix: Matrix
    storage: t.Tensor
    tensor: t.Tensor
    front: int

    def raw(self) -> bytes:
        """All bytes of the storage as they are now."""
        return t.raw_bytes(self.storage)

    def prefix(self, matrix: Matrix) -> Block:
        """The same memory as a tensor of no more rows; the very tensor for as many."""
        if matrix == self.matrix and not self.disfigured():
            return self
        return Block(matrix, self.storage, self.view(matrix), self.front)

    def view(self, matrix: Matrix) -> t.Tensor:
        """A new tensor over the elements."""
        typed = t.view(self.storage, t.torch_dtype(matrix.dtype))
        offset = self.front // FORMATS[matrix.dtype].itemsize
        return t.as_strided(typed, matrix.shape, matrix.strides, offset)

    def disfigured(self) -> tuple[str, ...]:
        """What the tensor that was handed out is not any more, apart from its elements."""
        given, matrix = self.tensor, self.matrix
        if (given.shape, t.stride(given)) != (matrix.shape, matrix.strides):
            return (f"is now {list(given.shape)} with strides {list(t.stride(given))}",)
        moved = matrix.rows and t.data_ptr(given) != t.data_ptr(self.storage) + self.front
        grad = ("requires grad now",) if given.requires_grad else ()
        return (*grad, "lies elsewhere now") if moved else grad


@dataclass(frozen=True)
class Arguments:
    """What one call is made with."""

    logits: Block
    buffer: Block | None


def allocate(matrix: Matrix, device: torch.device) -> Block:
    """A tensor of this description in a storage of its own, not filled yet."""
    itemsize = FORMATS[matrix.dtype].itemsize
    layout = matrix.layout
    front = 0 if layout.tight else GUARD + layout.offset * itemsize
    back = 0 if layout.tight else GUARD + layout.pad * itemsize
    storage = t.empty(front + matrix.span * itemsize + back, dtype=torch.uint8, device=device)
    typed = t.view(storage, t.torch_dtype(matrix.dtype))
    tensor = t.as_strided(typed, matrix.shape, matrix.strides, front // itemsize)
    return Block(matrix, storage, tensor, front)


def build(
    case: Case, index: int, earlier: Mapping[int, Arguments], device: torch.device
) -> Arguments:
    """The arguments of one call of a case, filled; storages of earlier calls are used again."""
    call = case.calls[index]
    with torch.inference_mode() if call.mode == "inference_tensors" else nullcontext():
        blocks = {i: a.logits for i, a in earlier.items()}
        logits = _block(call.logits, call.logits_of, blocks, device)
        buffer = _buffer(call, earlier, device)
        _fill(call, logits, buffer)
    if buffer is None or call.sharing == "separate":
        return Arguments(logits, buffer)
    return Arguments(_shared(call, buffer), buffer)


def _block(
    matrix: Matrix, reused: int | None, earlier: Mapping[int, Block], device: torch.device
) -> Block:
    return allocate(matrix, device) if reused is None else earlier[reused].prefix(matrix)


def _buffer(call: Call, earlier: Mapping[int, Arguments], device: torch.device) -> Block | None:
    if call.buffer is None:
        return None
    blocks = {i: a.buffer or a.logits for i, a in earlier.items()}
    return _block(call.buffer, call.buffer_of, blocks, device)


def _fill(call: Call, logits: Block, buffer: Block | None) -> None:
    poison = POISON_BYTES[call.poison]
    blocks = [logits] if buffer is None else [logits, buffer]
    for block in blocks:
        t.fill_(block.storage, poison)
    filled = buffer if buffer is not None and call.sharing != "separate" else logits
    # A tensor that was handed out before may be in any state; its memory is ours.
    reused = call.logits_of is not None
    fill(filled.view(filled.matrix) if reused else filled.tensor, call)


def _shared(call: Call, buffer: Block) -> Block:
    """The logits as a tensor over the buffer's bytes."""
    tensor = buffer.tensor
    if call.sharing == "same_bytes":
        tensor = t.as_strided(tensor, tensor.shape, tensor.stride(), tensor.storage_offset())
    elif call.sharing == "dlpack":
        tensor = t.from_dlpack(tensor)
    return Block(buffer.matrix, buffer.storage, tensor, buffer.front)
