"""``logitsbuf self-check``: the suite against implementations whose verdict is known.

Prints the kill matrix, and fails on a survivor, on a killer that was not declared, and on a right
implementation that is flagged.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from logitsbuf.api import check
from logitsbuf.errors import UsageError
from logitsbuf.mutants import Mutant, known_bad, known_good
from logitsbuf.spec import INVARIANTS


@dataclass(frozen=True, kw_only=True)
class Line:
    """One row of the kill matrix: who judged the implementation wrong, against the declaration."""

    mutant: Mutant
    killers: frozenset[str]

    @property
    def as_declared(self) -> bool:
        return self.killers == self.mutant.kills

    @property
    def problem(self) -> str:
        """What differs from the declaration."""
        missing = sorted(self.mutant.kills - self.killers)
        extra = sorted(self.killers - self.mutant.kills)
        parts = [f"not killed by {', '.join(missing)}"] if missing else []
        return "; ".join(parts + ([f"undeclared: {', '.join(extra)}"] if extra else []))


def kill_matrix(fleet: list[Mutant], *, max_examples: int, seed: int) -> Iterator[Line]:
    """A line for each implementation, as soon as it is known."""
    for mutant in fleet:
        yield Line(mutant=mutant, killers=killers(mutant, max_examples=max_examples, seed=seed))


def killers(mutant: Mutant, *, max_examples: int, seed: int) -> frozenset[str]:
    """The invariants that judge an implementation wrong. The database is off."""
    report = check(f"mutant:{mutant.name}", device="cpu", max_examples=max_examples, seed=seed)
    guilty = (f for f in report.findings if f.level != "MAY" and f.status != "history-dependent")
    return frozenset(finding.invariant for finding in guilty)


def self_check(*, select: str, max_examples: int, seed: int) -> int:
    """Print the matrix; 0 if it is as declared, else 3: the suite is at fault."""
    fleet = [m for m in (*known_bad(), *known_good()) if select in m.name]
    if not fleet:
        raise UsageError(f"no mutant has {select!r} in its name")
    width = max(len(mutant.name) for mutant in fleet)
    wrong = 0
    for line in kill_matrix(fleet, max_examples=max_examples, seed=seed):
        print(_text(line, width), flush=True)
        wrong += not line.as_declared
    needed = "" if select else _needed(fleet)
    print(f"\n{len(fleet)} implementations, {wrong} not as declared{needed}")
    return 3 if wrong else 0


def _text(line: Line, width: int) -> str:
    kind = "right" if line.mutant.right else "wrong"
    shown = ", ".join(sorted(line.killers)) or "flagged by nothing"
    mark = "ok " if line.as_declared else "BAD"
    text = f"{mark} {kind} {line.mutant.name:<{width}}  {shown}"
    return text if line.as_declared else f"{text}  ({line.problem})"


def _needed(fleet: list[Mutant]) -> str:
    """Invariants that are the only MUST or SHOULD to refute some implementation."""
    alone = {next(iter(m.kills)) for m in fleet if len(m.kills) == 1}
    count = len([i for i in INVARIANTS if i.id in alone])
    return f"; {count} of {len(INVARIANTS)} invariants alone refute one"
