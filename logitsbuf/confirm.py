"""Settle what a violation is: whose fault, how small, and whether it comes back.

State across calls is the most common trap. An implementation that caches gives clean, well-reduced
and *false* counterexamples, so nothing is believed that does not fail in a process in which the
implementation was never called:

1. It fails there, alone: it belongs to its invariant, and is reduced.
2. It fails there, but only as a sequence of calls: it is COPY-PURE, with that sequence.
3. It does not: the history of this process is replayed and minimised, and is COPY-PURE as well.
4. No history brings it back: it is reported as unstable, with how often it failed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from logitsbuf.case import Call, Case, last_alone
from logitsbuf.judge import Found, Key
from logitsbuf.pristine import Crashed, First, Pristine, admission
from logitsbuf.reduce import reduce
from logitsbuf.verdict import Finding, Status

SECONDS = 2.5
"""For one reduction, one new process per proposal; twice that for the history of a run."""

TRIES = 5
"""Replays of a case that is not stable."""

_PURE = "COPY-PURE"
_SEE_PURE = "only after earlier calls: see COPY-PURE"
_CRASH = Crashed("").found.key


class Settler:
    """Settles violations of one process.

    history: every case that the process has made, up to the one that is settled.
    """

    def __init__(self, pristine: Pristine, history: Sequence[Case]) -> None:
        self._pristine = pristine
        self._history = history
        self._impure_known = False

    def settle(self, case: Case, found: Found) -> list[Finding]:
        """The findings that a violation amounts to."""
        if found.level == "MAY" or not self._pristine.isolated:
            return [_finding(case.scenario, case, found, "noted")]
        case = replace(case, calls=case.calls[: found.call + 1])  # what came later is not to blame
        if self._impure_known and self._only_in_sequence(case, found.key):
            return [self._dependent(case, found)]
        if (small := self._reduced(case, found.key)) is not None:
            return self._named(case.scenario, small, found)
        return self._without_a_case(case, found)

    def settle_crash(self, case: Case, how: str) -> list[Finding]:
        """The finding for a case that ended its process."""
        found = Crashed(how).found
        small = self._reduced(case, found.key)
        if small is None:
            note = "the process did not end again when the case was replayed alone"
            return [_finding(case.scenario, case, found, "unstable", note)]
        return [_finding(case.scenario, small, found, "confirmed")]

    def _only_in_sequence(self, case: Case, key: Key) -> bool:
        """Whether the last call does not fail alone. (State need not be reduced twice.)"""
        return not self._fails(last_alone(case), key)

    def _dependent(self, case: Case, found: Found) -> Finding:
        return _finding(case.scenario, case, found, "history-dependent", _SEE_PURE)

    def _reduced(self, case: Case, key: Key) -> Case | None:
        """The smallest form that fails in new processes; quickly if the quick way holds there."""
        quick = self._pristine.reduce(case, key)
        if isinstance(quick, Case) and self._fails(quick, key):
            return quick
        if not self._fails(case, key):
            return None
        return reduce(case, lambda c: self._fails(c, key), admission(case), SECONDS)

    def _fails(self, case: Case, key: Key) -> bool:
        answer = self._pristine.replay((case,), key)
        return isinstance(answer, First) or (isinstance(answer, Crashed) and key == _CRASH)

    def _named(self, scenario: str, small: Case, found: Found) -> list[Finding]:
        answer = self._pristine.replay((small,), found.key)
        if isinstance(answer, First):
            found = next(f for f in answer.found if f.key == found.key)
        if len(small.calls) == 1 or found.invariant == _PURE:
            return [_finding(scenario, small, found, "confirmed")]
        return self._impure(scenario, small, found)

    def _impure(self, scenario: str, small: Case, found: Found) -> list[Finding]:
        """A sequence is to blame: COPY-PURE fails, the invariant itself may well hold."""
        count = len(small.calls)
        expected = f"{found.expected} ({found.invariant}), as for call {found.call} alone"
        observed = f"{found.observed}, after {count - 1} earlier call{'s' * (count > 2)}"
        pure = replace(found, invariant=_PURE, level="MUST", expected=expected, observed=observed)
        self._impure_known = True
        dependent = _finding(scenario, small, found, "history-dependent", _SEE_PURE)
        return [_finding(small.scenario, small, pure, "confirmed"), dependent]

    def _without_a_case(self, case: Case, found: Found) -> list[Finding]:
        """The case alone does not fail in a new process."""
        if self._impure_known:
            return [self._dependent(case, found)]
        if (sequence := self._guilty_sequence(found.key)) is None:
            return [self._unstable(case, found)]
        settled = self._named(case.scenario, sequence, found)
        return settled[:1] + ([self._dependent(case, found)] if len(sequence.calls) > 1 else [])

    def _guilty_sequence(self, key: Key) -> Case | None:
        """The shortest sequence of this process's calls that violates the invariant again."""
        answer = self._pristine.replay(tuple(self._history), key)
        if not isinstance(answer, First):
            return None
        *earlier, last = self._history[: answer.position + 1]
        guilty = next(found.call for found in answer.found if found.key == key)
        last = replace(last, calls=last.calls[: guilty + 1])
        sequence = Case("repeated_calls", flattened([*earlier, last]))
        if not self._fails(sequence, key):
            return None
        return reduce(sequence, lambda c: self._fails(c, key), lambda c: True, 2 * SECONDS)

    def _unstable(self, case: Case, found: Found) -> Finding:
        failed = sum(self._fails(case, found.key) for _ in range(TRIES))
        note = f"not reproducible: {failed} of {TRIES} replays failed"
        return _finding(case.scenario, case, found, "unstable", note)


def flattened(cases: Sequence[Case]) -> tuple[Call, ...]:
    """The calls of all cases in order, as they were made: each case freed what it had."""
    calls: list[Call] = []
    for case in cases:
        base = len(calls)
        first, *others = [_moved(call, base) for call in case.calls]
        calls += [replace(first, freed=base > 0), *others]
    return tuple(calls)


def _moved(call: Call, base: int) -> Call:
    logits_of = None if call.logits_of is None else call.logits_of + base
    buffer_of = None if call.buffer_of is None else call.buffer_of + base
    return replace(call, logits_of=logits_of, buffer_of=buffer_of)


def _finding(scenario: str, case: Case, found: Found, status: Status, note: str = "") -> Finding:
    return Finding(
        scenario=scenario,
        invariant=found.invariant,
        level=found.level,
        expected=found.expected,
        observed=found.observed,
        cause=found.cause,
        case=case,
        status=status,
        note=note,
    )
