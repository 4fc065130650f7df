"""Wrong state: what is kept between calls, global modes, and what a call costs."""

from __future__ import annotations

import unittest
import warnings
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from logitsbuf.mutants.registry import fits, guard, mutant, narrow, right_copy

if TYPE_CHECKING:
    from logitsbuf.mutants.registry import CopyFunction


@mutant("COPY-PURE", "COPY-RELEASE", reports=("sgl-project/sglang#29779",))
def result_is_cached_by_shape() -> CopyFunction:
    """Keeps the first fallback of each shape and returns it again."""
    cache: dict[tuple[int, ...], Tensor] = {}

    def copy(logits: Tensor, buffer: Tensor | None, vocab_size: int) -> Tensor:
        narrowed = narrow(logits, vocab_size)
        if fits(buffer, narrowed):
            return right_copy(logits, buffer, vocab_size)
        return cache.setdefault(tuple(narrowed.shape), narrowed.float())

    return copy


@mutant("COPY-PURE", "COPY-RELEASE", reports=("sgl-project/sglang#8579",))
def first_buffer_is_kept() -> CopyFunction:
    """Keeps the first matching buffer and writes to that one ever after."""
    kept: list[Tensor] = []

    def copy(logits: Tensor, buffer: Tensor | None, vocab_size: int) -> Tensor:
        narrowed = narrow(logits, vocab_size)
        if buffer is None or not fits(buffer, narrowed):
            return narrowed.float()
        guard(buffer)
        if not kept:
            kept.append(buffer)
        target = kept[0] if kept[0].shape == narrowed.shape else buffer
        return target.copy_(narrowed)

    return copy


@mutant("COPY-PURE", "COPY-RELEASE")
def fallbacks_share_scratch() -> CopyFunction:
    """Falls back into one scratch tensor, so that the next fallback overwrites the last."""
    scratch: list[Tensor] = []

    def copy(logits: Tensor, buffer: Tensor | None, vocab_size: int) -> Tensor:
        narrowed = narrow(logits, vocab_size)
        if fits(buffer, narrowed):
            return right_copy(logits, buffer, vocab_size)
        if not scratch or scratch[0].numel() < narrowed.numel():
            scratch[:] = [torch.empty(narrowed.numel(), device=logits.device, dtype=torch.float32)]
        return scratch[0][: narrowed.numel()].view(narrowed.shape).copy_(narrowed)

    return copy


@mutant("COPY-PURE")
def every_seventh_call_is_wrong() -> CopyFunction:
    """Doubles the result of every seventh call."""
    calls = [0]

    def copy(logits: Tensor, buffer: Tensor | None, vocab_size: int) -> Tensor:
        calls[0] += 1
        result = right_copy(logits, buffer, vocab_size)
        return result if calls[0] % 7 else result.add_(1.0)

    return copy


@mutant("COPY-RELEASE")
def last_logits_are_kept() -> CopyFunction:
    """Keeps the last call's logits, for debugging."""
    kept: list[Tensor] = []

    def copy(logits: Tensor, buffer: Tensor | None, vocab_size: int) -> Tensor:
        kept[:] = [logits]
        return right_copy(logits, buffer, vocab_size)

    return copy


@mutant("COPY-MODES")
def grad_mode_is_left_off() -> CopyFunction:
    """Switches gradients off and not on again."""

    def copy(logits: Tensor, buffer: Tensor | None, vocab_size: int) -> Tensor:
        torch.set_grad_enabled(False)
        return right_copy(logits, buffer, vocab_size)

    return copy


@mutant("COPY-MODES", "COST-NO-ALLOC")
def random_state_is_used() -> CopyFunction:
    """Draws a random number that nobody needs."""

    def copy(logits: Tensor, buffer: Tensor | None, vocab_size: int) -> Tensor:
        torch.rand(1)
        return right_copy(logits, buffer, vocab_size)

    return copy


@mutant("COPY-MODES")
def a_misfit_warns() -> CopyFunction:
    """Warns of every buffer that it does not use."""

    def copy(logits: Tensor, buffer: Tensor | None, vocab_size: int) -> Tensor:
        if buffer is not None and not fits(buffer, narrow(logits, vocab_size)):
            warnings.warn("the logits do not fit the buffer", stacklevel=2)
        return right_copy(logits, buffer, vocab_size)

    return copy


@mutant("COPY-MODES", "COPY-FLOAT32")
def default_dtype_is_trusted() -> CopyFunction:
    """Allocates the fallback with torch's defaults."""

    def copy(logits: Tensor, buffer: Tensor | None, vocab_size: int) -> Tensor:
        narrowed = narrow(logits, vocab_size)
        if fits(buffer, narrowed):
            return right_copy(logits, buffer, vocab_size)
        return torch.empty(narrowed.shape).copy_(narrowed)

    return copy


@mutant("COPY-TOTAL")
def test_runners_are_stopped() -> CopyFunction:
    """Raises what a test runner takes for a skip."""

    def copy(logits: Tensor, buffer: Tensor | None, vocab_size: int) -> Tensor:
        raise unittest.SkipTest("nothing to see here")

    return copy


@mutant("COST-NO-ALLOC")
def match_goes_through_a_temporary() -> CopyFunction:
    """Converts into a new tensor before it copies."""

    def copy(logits: Tensor, buffer: Tensor | None, vocab_size: int) -> Tensor:
        narrowed = narrow(logits, vocab_size)
        if buffer is None or not fits(buffer, narrowed):
            return narrowed.float()
        return guard(buffer).copy_(narrowed.float())

    return copy


@mutant("COST-ONE-WRITE")
def match_is_written_twice() -> CopyFunction:
    """Copies twice."""

    def copy(logits: Tensor, buffer: Tensor | None, vocab_size: int) -> Tensor:
        result = right_copy(logits, buffer, vocab_size)
        return result.copy_(narrow(logits, vocab_size)) if result is buffer else result

    return copy


@mutant("COST-ONE-WRITE")
def always_narrows() -> CopyFunction:
    """Makes a view of logits that are not wider than the vocabulary."""

    def copy(logits: Tensor, buffer: Tensor | None, vocab_size: int) -> Tensor:
        return right_copy(logits.narrow(1, 0, min(vocab_size, logits.shape[1])), buffer, vocab_size)

    return copy


@mutant("COST-NO-SYNC", "COST-ONE-WRITE")
def values_are_read_on_the_host() -> CopyFunction:
    """Looks at the first logit."""

    def copy(logits: Tensor, buffer: Tensor | None, vocab_size: int) -> Tensor:
        if logits.numel():
            logits[0, 0].item()
        return right_copy(logits, buffer, vocab_size)

    return copy


@mutant("COST-NO-SYNC")
def goes_by_way_of_the_host() -> CopyFunction:
    """Moves the logits to the host first, which on the CPU is no operator at all."""

    def copy(logits: Tensor, buffer: Tensor | None, vocab_size: int) -> Tensor:
        return right_copy(logits.cpu(), buffer, vocab_size)

    return copy
