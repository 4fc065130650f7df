"""The global state around a call: the modes it is made under, and what it must leave as it was."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import torch

from logitsbuf import torchrefs as t
from logitsbuf.case import Mode

_DEFAULT_DTYPES = {
    "default_float64": torch.float64,
    "default_float16": torch.float16,
    "default_bfloat16": torch.bfloat16,
}
_AUTOCAST_DTYPES = {"autocast_bfloat16": torch.bfloat16, "autocast_float16": torch.float16}


def entered(mode: Mode, device: torch.device) -> AbstractContextManager[Any]:
    """The context that a call under this mode is made in."""
    if mode in _DEFAULT_DTYPES:
        return _default_dtype(_DEFAULT_DTYPES[mode])
    if mode in _AUTOCAST_DTYPES:
        return torch.autocast(device.type, dtype=_AUTOCAST_DTYPES[mode])
    if mode in ("inference_mode", "inference_tensors"):
        return torch.inference_mode()
    if mode == "no_grad":
        return torch.no_grad()
    return torch.device("meta") if mode == "default_device_meta" else nullcontext()


def default_device() -> torch.device:
    """Where a tensor lands by itself. (torch 2.8's own getter fails once the device was reset.)"""
    return t.empty(0).device


@contextmanager
def _default_dtype(dtype: torch.dtype) -> Iterator[None]:
    before = t.default_dtype()
    t.set_default_dtype(dtype)
    try:
        yield
    finally:
        t.set_default_dtype(before)


_WATCHED = (
    "grad mode",
    "inference mode",
    "default dtype",
    "autocast",
    "deterministic algorithms",
    "torch's random state",
    "the device's random state",
    "default device",
    "Python's random state",
)


class State:
    """The global state that a call must not change, taken on construction.

    thorough: look at what takes longer to read, too. That is done where modes are the subject:
    elsewhere it would cost a tenth of every example.
    """

    def __init__(self, device: torch.device, *, thorough: bool) -> None:
        self._device = device
        self._thorough = thorough
        self._before = self._now()

    def _now(self) -> tuple[Any, ...]:
        """In the order of _WATCHED."""
        quick = (
            t.is_grad_enabled(),
            torch.is_inference_mode_enabled(),
            t.default_dtype(),
            torch.is_autocast_enabled(self._device.type),
            torch.are_deterministic_algorithms_enabled(),
            t.raw_bytes(t.rng_state()),
            b"" if self._device.type == "cpu" else self._device_random_state(),
        )
        if not self._thorough:
            return quick
        return (*quick, default_device(), random.getstate())

    def _device_random_state(self) -> bytes:
        return t.raw_bytes(torch.cuda.get_rng_state(self._device))

    def changes(self) -> tuple[str, ...]:
        """Names of what is not as it was."""
        now = self._now()
        if now == self._before:
            return ()
        pairs = zip(_WATCHED, self._before, now, strict=False)
        return tuple(name for name, old, new in pairs if old != new)

    def restore(self) -> None:
        """Put back what :meth:`changes` may have named, for the calls that follow."""
        grad, _, dtype, _, deterministic, random_state, *_ = self._before
        t.set_grad_enabled(grad)
        t.set_default_dtype(dtype)
        torch.use_deterministic_algorithms(deterministic)
        t.set_rng_state(t.frombuffer(bytearray(random_state), dtype=torch.uint8))
        if self._thorough:
            random.setstate(self._before[-1])
