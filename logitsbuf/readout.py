"""Read memory: arguments and results, as bytes and numbers. Nothing of a result is kept."""

from __future__ import annotations

from typing import Any

import torch

from logitsbuf import torchrefs as t
from logitsbuf.arena import Block
from logitsbuf.observation import Memory, Output


def qualified_name(kind: type) -> str:
    """Where a type is defined, builtins by their bare name."""
    plain = kind.__module__ == "builtins"
    return kind.__qualname__ if plain else f"{kind.__module__}.{kind.__qualname__}"


def memory(block: Block, before: bytes, after: bytes) -> Memory:
    """The storage of an argument as data."""
    address = t.data_ptr(block.storage) + block.front if before and block.matrix.rows else None
    return Memory(
        matrix=block.matrix,
        front=block.front,
        address=address,
        before=before,
        after=after,
        disfigured=block.disfigured(),
    )


def is_dense(result: Any) -> bool:
    """Whether a result is what the contract calls a tensor."""
    # Not isinstance: it believes an object's own __class__.
    return issubclass(type(result), t.Tensor) and result.layout == torch.strided


def output(result: Any, device: torch.device) -> Output:
    """Read a result; nothing of it is kept. A subclass of Tensor has no say in how it is read."""
    name = qualified_name(type(result))
    with torch._C.DisableTorchFunctionSubclass():
        if not is_dense(result):
            return Output(type_name=name, is_tensor=False)
        bits, extent, problem = None, None, ""
        try:
            bits, extent = _bits(result, device), _extent(result)
        except Exception as error:  # noqa: BLE001  (a quantized tensor, one without memory, …)
            problem = f"reading it raised {type(error).__name__}: {error}"
        return Output(
            type_name=name,
            is_tensor=True,
            unreadable=problem,
            shape=tuple(result.shape),
            strides=tuple(result.stride()),
            dtype=str(result.dtype).removeprefix("torch."),
            itemsize=result.element_size(),
            device=str(result.device),
            bits=bits,
            extent=extent,
        )


def _bits(result: t.Tensor, device: torch.device) -> t.Tensor | None:
    """The elements as int32 on the CPU, in a memory of their own."""
    if result.dtype != torch.float32 or result.device != device or result.dim() == 0:
        return None
    plain = t.resolve_neg(t.detach(result))
    owned = t.empty(result.shape, dtype=t.INTEGERS[32], device="cpu")
    return t.copy_(owned, t.view(t.contiguous(plain), t.INTEGERS[32]))


def plain(result: t.Tensor) -> t.Tensor:
    """A tensor of no subclass over the same memory."""
    with torch._C.DisableTorchFunctionSubclass():
        return t.detach(result).as_subclass(t.Tensor)


def result_bytes(result: t.Tensor) -> bytes:
    """The elements of a plain tensor of any dtype, read where they lie."""
    contiguous = t.contiguous(t.resolve_neg(result))
    return t.raw_bytes(t.view(t.view(contiguous, (-1,)), torch.uint8))


def _extent(result: t.Tensor) -> tuple[int, int] | None:
    if not result.numel() or result.device.type == "meta":
        return None
    start = t.data_ptr(result)
    if start == 0:
        return None  # zeros that torch has not laid out anywhere
    sizes = zip(result.shape, result.stride(), strict=True)
    span = sum((size - 1) * stride for size, stride in sizes) + 1
    return start, start + span * result.element_size()
