"""One case again, in a process in which the implementation was not called yet.

The very mechanism that confirmed the case when it was found.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from logitsbuf.case import Case
from logitsbuf.caseformat import from_json
from logitsbuf.devices import resolve_device
from logitsbuf.errors import UsageError
from logitsbuf.judge import Found
from logitsbuf.options import Request
from logitsbuf.pristine import Crashed, First, Pristine
from logitsbuf.resolve import as_implementation
from logitsbuf.scenarios import SCENARIOS
from logitsbuf.spec import BY_ID


def replay(
    implementation: Callable[..., Any] | str | object, text: str, *, device: str | None = None
) -> tuple[Found, ...]:
    """What a case (JSON, as a report prints it) violates; empty if it violates nothing.

    implementation and device: as for :func:`logitsbuf.check`. UsageError for a text that is no
    case.
    """
    return _found(implementation, from_json(text), device)


def _found(implementation: Any, case: Case, device: str | None) -> tuple[Found, ...]:
    if case.scenario not in SCENARIOS:
        raise UsageError(f"scenario {case.scenario!r}; expected one of {', '.join(SCENARIOS)}")
    where = resolve_device(device)
    target = as_implementation(implementation, str(where))
    with Pristine(target, where) as pristine:
        answer = pristine.replay((case,), None)
    if isinstance(answer, Crashed):
        return (Crashed(f"{answer.how} during the calls").found,)
    return answer.found if isinstance(answer, First) else ()


def print_replay(request: Request, text: str) -> int:
    """Print what the case shows; 1 if it violates a MUST (``--strict``: or a SHOULD), else 0."""
    case = from_json(text)
    found = _found(request.implementation, case, request.device)
    if request.only:
        found = tuple(fault for fault in found if fault.invariant in request.only)
    print(case)
    for fault in found:
        print(f"{fault.invariant} ({fault.level}) violated: {BY_ID[fault.invariant].statement}")
        print(f"  expected: {fault.expected}\n  observed: {fault.observed} (call {fault.call})")
    if not found:
        print("nothing is violated")
    failing = {"MUST", "SHOULD"} if request.strict else {"MUST"}
    return int(any(fault.level in failing for fault in found))
