"""One pure check per invariant, and the judge that applies them all.

A check takes what was observed of one call and says *held*, *fault*, or that it does not apply.
It calls nothing, and knows nothing of how the observation was made.
"""

from __future__ import annotations

from types import MappingProxyType

from logitsbuf.checks import memory, result, situation
from logitsbuf.checks.outcome import HELD, Check, Fault, Outcome
from logitsbuf.observation import Observation

CHECKS: MappingProxyType[str, Check] = MappingProxyType(
    {
        "COPY-TOTAL": result.total,
        "COPY-LAYOUT": result.layout,
        "COPY-FLOAT32": result.float32,
        "COPY-SHAPE": result.shape,
        "COPY-DEVICE": result.device,
        "COPY-VALUES": result.values,
        "COPY-REUSE": memory.reuse,
        "COPY-NO-ALIAS": memory.no_alias,
        "COPY-UNTOUCHED": memory.untouched,
        "COPY-IN-BOUNDS": memory.in_bounds,
        "COPY-INPUT": memory.untouched_input,
        "COPY-DTYPE-GUARD": memory.dtype_guard,
        "COPY-PURE": situation.pure,
        "COPY-MODES": situation.modes,
        "COPY-FRESH": memory.fresh,
        "COPY-RELEASE": situation.release,
        "COST-NO-ALLOC": situation.no_alloc,
        "COST-ONE-WRITE": situation.one_write,
        "COST-NO-SYNC": situation.no_sync,
    }
)
"""COPY-SELF has no check of its own: it is what the others find where the logits are the buffer
(see :mod:`logitsbuf.blame`)."""

_Checks = tuple[tuple[str, Check], ...]


def _named(*names: str) -> _Checks:
    return tuple((name, CHECKS[name]) for name in names)


_ALL: _Checks = tuple(CHECKS.items())
_NO_TENSOR = _named("COPY-TOTAL")
_AFTER_A_RAISE = _named(
    "COPY-TOTAL",
    "COPY-LAYOUT",
    "COPY-UNTOUCHED",
    "COPY-IN-BOUNDS",
    "COPY-INPUT",
    "COPY-DTYPE-GUARD",
)
_RECORDED = tuple(item for item in _ALL if item[0].startswith("COST-"))


def in_order(observation: Observation, *, recorded: bool) -> _Checks:
    """The judging order: what is no tensor violates COPY-TOTAL and nothing else, and after a raise
    only memory is judged. A recorder may disturb an implementation: only costs are judged then."""
    if recorded:
        return _RECORDED
    if observation.output is not None and not observation.output.is_tensor:
        return _NO_TENSOR
    return _AFTER_A_RAISE if observation.raised else _ALL


__all__ = ["CHECKS", "HELD", "Check", "Fault", "Outcome", "in_order"]
