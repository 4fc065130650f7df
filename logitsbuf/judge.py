"""Observe a case and apply every check to it.

A fault that shows only because of the situation (a mode, an odd layout, logits that are the
buffer) belongs to the invariant of that situation. So a faulty call is made once more without
its situation: what still fails keeps its name, the rest is renamed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch

from logitsbuf.case import Call, Case, Layout, Matrix, single
from logitsbuf.checks import Fault, in_order
from logitsbuf.contract import Contract
from logitsbuf.implementation import Implementation
from logitsbuf.observation import Observation
from logitsbuf.observe import RECORDED, observe
from logitsbuf.spec import BY_ID, Level

Key = tuple[str, Level]
"""What makes two faults the same kind within a scenario: the invariant and how hard it fails."""


@dataclass(frozen=True, kw_only=True)
class Found:
    """A violated invariant: which, how hard, in which call of the case, and what was seen.

    cause: the invariant whose check spoke; another one if the situation was to blame.
    """

    invariant: str
    level: Level
    call: int
    expected: str
    observed: str
    cause: str

    @property
    def key(self) -> Key:
        return self.invariant, self.level


@dataclass(frozen=True)
class Judgement:
    """What one case shows: the invariants that it exercised, and those that it refutes."""

    exercised: frozenset[str]
    found: tuple[Found, ...]

    def of(self, key: Key) -> Found | None:
        """The first fault of a kind."""
        return next((found for found in self.found if found.key == key), None)


def judge(implementation: Implementation, case: Case, device: torch.device) -> Judgement:
    """Make the calls of a case and judge each one by every check that applies."""
    observations = observe(implementation.copy, case, device)
    exercised: set[str] = set()
    found: list[Found] = []
    for index, observation in enumerate(observations):
        applied, faults = _apply(observation, implementation.contract, case.scenario)
        exercised |= applied | _situations(observation.call)
        faults = _blame(implementation, case, observation.call, faults, device)
        found += [_found(name, fault, index, implementation.contract) for name, fault in faults]
    return Judgement(frozenset(exercised), tuple(found))


Named = list[tuple[str, Fault]]


def _apply(o: Observation, contract: Contract, scenario: str) -> tuple[set[str], Named]:
    exercised, faults = set(), []
    for name, check in in_order(o, recorded=scenario in RECORDED):
        outcome = check(o, contract)
        if outcome is not None:
            exercised.add(name)
        if isinstance(outcome, Fault):
            faults.append((name, outcome))
    return exercised, faults


def _situations(call: Call) -> set[str]:
    return {"COPY-SELF"} if call.sharing != "separate" else set()


def level_of(invariant: str, contract: Contract) -> Level:
    """The level of an invariant for an implementation that makes these promises."""
    promised = invariant == "COPY-FRESH" and contract.fresh
    return "MUST" if promised else BY_ID[invariant].level


def promoted(contract: Contract) -> tuple[str, ...]:
    """Invariants that a contract makes a MUST."""
    return tuple(i for i in BY_ID if level_of(i, contract) != BY_ID[i].level)


def _found(invariant: str, fault: Fault, call: int, contract: Contract) -> Found:
    return Found(
        invariant=invariant,
        level=fault.level or level_of(invariant, contract),
        call=call,
        expected=fault.expected,
        observed=fault.observed,
        cause=fault.cause or invariant,
    )


def _blame(
    implementation: Implementation, case: Case, call: Call, faults: Named, device: torch.device
) -> Named:
    situation = situation_of(call)
    hard = [name for name, _ in faults if BY_ID[name].level == "MUST"]
    if situation is None or not hard:
        return faults
    twin = observe(implementation.copy, single(case.scenario, without_situation(call)), device)
    _, twin_faults = _apply(twin[0], implementation.contract, case.scenario)
    everywhere = {name for name, _ in twin_faults}
    if "COPY-TOTAL" in everywhere:  # what fails without the situation is not refused for it
        faults = [(name, fault) for name, fault in faults if fault.level is None]
    renamed: Named = []
    for name, fault in faults:
        own = name not in hard or name in everywhere or name == situation
        renamed.append((name, fault) if own else (situation, _renamed(name, fault, call)))
        if not own and name == "COPY-FLOAT32":
            renamed.append((name, fault))  # its sentence covers every default dtype
    return renamed


def situation_of(call: Call) -> str | None:
    """The invariant that speaks of a call's situation."""
    if call.sharing != "separate":
        return "COPY-SELF"
    if call.exotic_layout:
        return "COPY-LAYOUT"
    return "COPY-MODES" if call.mode != "plain" else None


def without_situation(call: Call) -> Call:
    """The same call in plain mode, with rows of unit column stride and separate tensors."""
    buffer = None if call.buffer is None else _plain(call.buffer)
    return replace(
        call,
        logits=_plain(call.logits),
        buffer=buffer,
        mode="plain",
        sharing="separate",
        logits_of=None,
        buffer_of=None,
    )


def _plain(matrix: Matrix) -> Matrix:
    return matrix if matrix.layout.unit_columns else replace(matrix, layout=Layout())


def _renamed(name: str, fault: Fault, call: Call) -> Fault:
    where: str = call.mode if call.mode != "plain" else "this layout"
    if call.sharing != "separate":
        where = "logits that are the buffer"
    return replace(fault, expected=f"{fault.expected} ({name}, under {where})", cause=name)
