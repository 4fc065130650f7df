"""What a known implementation is, and how one is registered."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from torch import Tensor

if TYPE_CHECKING:
    CopyFunction = Callable[[Tensor, Tensor | None, int], Any]


@dataclass(frozen=True, kw_only=True)
class Mutant:
    """One implementation, wrong in one way or right in its own way.

    make: gives it with fresh state. why: the defect (or the style) in one sentence.
    kills: the exact set of invariants that judge it wrong, MUST and SHOULD.
    right: nothing that it violates is a MUST.
    reports: where the defect was seen in public.
    """

    name: str
    why: str
    make: Callable[[], CopyFunction]
    kills: frozenset[str]
    reports: tuple[str, ...] = field(default=())

    @property
    def module(self) -> str:
        """The theme it belongs to: the module of its factory."""
        return self.make.__module__.rpartition(".")[2]

    @property
    def right(self) -> bool:
        return self.module == "good"


FLEET: dict[str, Mutant] = {}
"""Every known implementation by name; filled by the modules of this folder."""


def mutant(
    *kills: str, reports: tuple[str, ...] = ()
) -> Callable[[Callable[[], CopyFunction]], Callable[[], CopyFunction]]:
    """Register a factory under its own name; its docstring says what is wrong."""

    def register(make: Callable[[], CopyFunction]) -> Callable[[], CopyFunction]:
        why = (make.__doc__ or "").strip()
        name = make.__name__
        FLEET[name] = Mutant(name=name, why=why, make=make, kills=frozenset(kills), reports=reports)
        return make

    return register


right = mutant
"""A right implementation violates no MUST; its ``kills`` are the SHOULDs that its style costs."""


def narrow(logits: Tensor, vocab_size: int) -> Tensor:
    """The contract's *narrowed*."""
    return logits[:, :vocab_size] if logits.shape[1] > vocab_size else logits


def fits(buffer: Tensor | None, narrowed: Tensor) -> bool:
    """The contract's *match*."""
    return buffer is not None and buffer.shape == narrowed.shape


def guard(buffer: Tensor) -> Tensor:
    """The contract's dtype guard."""
    if buffer.dtype.itemsize != 4 or not buffer.dtype.is_floating_point:
        raise TypeError(f"the buffer is {buffer.dtype}; expected float32")
    return buffer


def right_copy(logits: Tensor, buffer: Tensor | None, vocab_size: int) -> Tensor:
    """The contract in four lines, for implementations that are wrong somewhere else."""
    narrowed = narrow(logits, vocab_size)
    if buffer is None or not fits(buffer, narrowed):
        return narrowed.float()
    return guard(buffer).copy_(narrowed)
