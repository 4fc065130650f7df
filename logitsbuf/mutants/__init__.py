"""Known implementations, wrong and right, each a small factory named by its defect or style.

A wrong one declares exactly which invariants judge it wrong; ``logitsbuf self-check`` holds the
suite to that. A new kind of fault starts here, as a mutant that the suite does not kill yet.
"""

from __future__ import annotations

from logitsbuf.errors import UsageError
from logitsbuf.mutants import cells, good, matching, memory, state
from logitsbuf.mutants.registry import FLEET, Mutant

__all__ = ["FLEET", "Mutant", "by_name", "known_bad", "known_good"]

_MODULES = (cells, good, matching, memory, state)  # importing them fills FLEET


def by_name(name: str) -> Mutant:
    """One of the fleet. UsageError for an unknown name."""
    if name not in FLEET:
        raise UsageError(f"unknown mutant {name!r}; expected one of {sorted(FLEET)}")
    return FLEET[name]


def known_bad() -> list[Mutant]:
    """Every wrong implementation, by name."""
    return sorted((m for m in FLEET.values() if not m.right), key=lambda m: m.name)


def known_good() -> list[Mutant]:
    """Every right implementation, by name."""
    return sorted((m for m in FLEET.values() if m.right), key=lambda m: m.name)
