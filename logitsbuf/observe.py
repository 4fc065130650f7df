"""Make the calls of a case and see what each one does.

Observation bypasses the implementation: bytes of whole storages before and after, addresses that
the harness knows itself, and nothing that the implementation says of its own work.
"""

from __future__ import annotations

import gc
import unittest
import warnings
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import count
from typing import Any

import torch
from hypothesis.errors import UnsatisfiedAssumption
from torch.multiprocessing.reductions import StorageWeakRef

from logitsbuf import interrupt
from logitsbuf import torchrefs as t
from logitsbuf.arena import Arguments, build
from logitsbuf.case import Call, Case
from logitsbuf.errors import HarnessError
from logitsbuf.modes import State, entered
from logitsbuf.observation import Costs, Observation, Output, Raised
from logitsbuf.readout import memory, output, plain, qualified_name, result_bytes
from logitsbuf.recorder import Recorder

RECORDED = frozenset({"cost"})
"""Scenarios whose calls are recorded operator by operator."""

_ENOUGH = 100  # full collections in one process

CopyFunction = Callable[..., Any]


def observe(copy: CopyFunction, case: Case, device: torch.device) -> tuple[Observation, ...]:
    """Make the calls of a case in order, each with fresh or reused tensors as the case says."""
    session = _Session(copy, case, device)
    for index in range(len(case.calls)):
        session.make(index)
    torch.set_default_device(None)  # one that the implementation left slows every operator down
    return session.released()


@dataclass(frozen=True)
class _Attempt:
    """The raw outcome of a call, before anything is read from it."""

    result: Any
    raised: Raised | None
    state: tuple[str, ...]
    warnings: tuple[str, ...]
    recorder: Recorder | None


class _Session:
    """The calls of one case, and what is alive between them."""

    def __init__(self, copy: CopyFunction, case: Case, device: torch.device) -> None:
        self._copy = copy
        self._case = case
        self._device = device
        self._arguments: dict[int, Arguments] = {}
        self._results: dict[int, t.Tensor] = {}
        self._watched: list[tuple[str, Any]] = []
        self._facts: list[dict[str, Any]] = []

    def make(self, index: int) -> None:
        """Build the arguments of a call, make it, and keep what was observed."""
        call = self._case.calls[index]
        if call.freed:
            self._free()
        arguments = build(self._case, index, self._arguments, self._device)
        before, others = _raw(arguments), self._elsewhere(arguments)
        attempt = _attempt(self._copy, call, arguments, self._case.scenario in RECORDED)
        after = _raw(arguments)
        now = self._elsewhere(arguments).items()
        changed = [name for name, raw in now if raw != others.get(name, raw)]
        facts = _facts(call, arguments, before, after, attempt)
        self._facts.append(facts | {"elsewhere": tuple(changed) if index else None})
        self._arguments[index] = arguments
        seen: Output | None = facts["output"]
        if facts["expects"] == "fallback" and seen is not None and seen.extent is not None:
            self._results[index] = plain(attempt.result)

    def _elsewhere(self, now: Arguments) -> dict[str, bytes]:
        """Bytes that a call with these arguments must not change: other tensors, older results."""
        mine = {t.data_ptr(b.storage) for b in (now.logits, now.buffer) if b is not None}
        found: dict[str, bytes] = {}
        for index, arguments in self._arguments.items():
            for name, block in (("logits", arguments.logits), ("buffer", arguments.buffer)):
                if block is not None and t.data_ptr(block.storage) not in mine:
                    found[f"the {name} of call {index}"] = block.raw()
        for index, result in self._results.items():
            # An (unduly) aliased result may change with its storage: that is no impurity.
            if result.untyped_storage().data_ptr() not in mine:
                found[f"the result of call {index}"] = result_bytes(result)
        return found

    def _free(self) -> None:
        """Let go of every tensor, and remember how to see which ones stay."""
        for arguments in self._arguments.values():
            self._watched.append(("logits", _reference(arguments.logits.storage)))
            if arguments.buffer is not None:
                self._watched.append(("buffer", _reference(arguments.buffer.storage)))
        self._watched += [("result", _reference(result)) for result in self._results.values()]
        self._arguments.clear()
        self._results.clear()

    def released(self) -> tuple[Observation, ...]:
        """Free everything that the harness holds; the observations, with what is still there."""
        self._free()
        if any(not reference.expired() for _, reference in self._watched):
            _collect()  # only now: an exception's traceback may be a cycle
        kept = tuple(dict.fromkeys(name for name, ref in self._watched if not ref.expired()))
        return tuple(Observation(**facts, kept=kept) for facts in self._facts)


_full_collections = count()


def _collect() -> None:
    """Collect what the call left in cycles. Of an implementation that keeps something every time,
    a hundred full collections are enough: its garbage is young."""
    gc.collect(2 if next(_full_collections) < _ENOUGH else 0)


def _reference(tensor: t.Tensor) -> Any:
    return StorageWeakRef(tensor.untyped_storage())


def _attempt(copy: CopyFunction, call: Call, arguments: Arguments, record: bool) -> _Attempt:
    device = arguments.logits.tensor.device
    recorder = Recorder() if record else None
    result, raised = None, None
    buffer = arguments.buffer.tensor if arguments.buffer is not None else None
    with warnings.catch_warnings(record=True) as caught, entered(call.mode, device):
        warnings.simplefilter("always")
        state = State(device, thorough=call.mode != "plain")
        try:
            with recorder or nullcontext():
                result = copy(arguments.logits.tensor, buffer, call.vocab_size)
        except HarnessError:
            raise
        except BaseException as error:  # noqa: BLE001  (whatever it raises is an observation)
            interrupt.reraise_if_real(error)
            raised = _raised(error)
        changes = state.changes()
        if changes:
            state.restore()
    return _Attempt(result, raised, changes, _warned(caught), recorder)


def _warned(caught: Sequence[warnings.WarningMessage]) -> tuple[str, ...]:
    # A ResourceWarning comes from whatever the garbage collector meets, not from the call.
    relevant = [w for w in caught if not issubclass(w.category, ResourceWarning)]
    return tuple(f"{w.category.__name__}: {str(w.message)[:200]}" for w in relevant)


def _raised(error: BaseException) -> Raised:
    control = not isinstance(error, Exception) or isinstance(
        error, (UnsatisfiedAssumption, unittest.SkipTest)
    )
    return Raised(type_name=qualified_name(type(error)), message=_message(error), control=control)


def _message(error: BaseException) -> str:
    try:
        return str(error)
    except Exception as broken:  # noqa: BLE001  (an exception whose text cannot be made)
        return f"(its message raised {type(broken).__name__})"


def _raw(arguments: Arguments) -> tuple[bytes, bytes]:
    buffer = arguments.buffer
    return arguments.logits.raw(), buffer.raw() if buffer is not None else b""


def _facts(
    call: Call,
    arguments: Arguments,
    before: tuple[bytes, bytes],
    after: tuple[bytes, bytes],
    attempt: _Attempt,
) -> dict[str, Any]:
    device = arguments.logits.tensor.device
    buffer = arguments.buffer
    return {
        "call": call,
        "narrowed": call.narrowed,
        "expects": call.expects,
        "device": str(device),
        "logits": memory(arguments.logits, before[0], after[0]),
        "buffer": None if buffer is None else memory(buffer, before[1], after[1]),
        "raised": attempt.raised,
        "output": None if attempt.raised else output(attempt.result, device),
        "state": attempt.state,
        "warnings": attempt.warnings,
        "costs": _costs(attempt, wrote=before[1] != after[1]),
    }


def _costs(attempt: _Attempt, *, wrote: bool) -> Costs | None:
    if attempt.recorder is None or attempt.raised:
        return None
    return attempt.recorder.costs(seen=not wrote or bool(attempt.recorder.writes))
