"""What a check says of one observation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from logitsbuf.contract import Contract
from logitsbuf.observation import Observation
from logitsbuf.spec import Level


@dataclass(frozen=True)
class Fault:
    """The invariant does not hold: what it expected and what was observed.

    level: if it is milder here than the invariant's own. cause: the invariant whose check spoke, if
    the fault was renamed since.
    """

    expected: str
    observed: str
    level: Level | None = None
    cause: str = ""


class Held:
    """The check applies and the invariant holds."""


HELD = Held()

Outcome = Fault | Held | None
"""None: the check does not apply, and the observation does not count as exercising it."""

Check = Callable[[Observation, Contract], Outcome]


def held_unless(faulty: bool, expected: str, observed: str) -> Outcome:
    """A fault if the condition is true."""
    return Fault(expected, observed) if faulty else HELD
