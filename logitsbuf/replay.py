"""``logitsbuf check IMPL --replay JSON``: one case in a process in which nothing was called yet.

The very mechanism that confirmed the case when it was found.
"""

from __future__ import annotations

from logitsbuf.caseformat import from_json
from logitsbuf.devices import resolve_device
from logitsbuf.options import Request
from logitsbuf.pristine import Crashed, Pristine
from logitsbuf.resolve import resolve
from logitsbuf.spec import BY_ID


def replay(request: Request, text: str) -> int:
    """Print what the case shows; 1 if it violates a MUST (``--strict``: or a SHOULD), else 0."""
    case = from_json(text)
    device = resolve_device(request.device)
    implementation = resolve(request.implementation, str(device))
    with Pristine(implementation, device) as pristine:
        answer = pristine.replay((case,), None)
    print(case)
    if isinstance(answer, Crashed):
        print(f"COPY-TOTAL (MUST) violated: {answer.how} during the calls")
        return 1
    found = [
        f
        for f in (answer.found if answer else ())
        if not request.only or f.invariant in request.only
    ]
    for fault in found:
        print(f"{fault.invariant} ({fault.level}) violated, call {fault.call}")
        print(f"  {BY_ID[fault.invariant].statement}")
        print(f"  expected: {fault.expected}\n  observed: {fault.observed}")
    if not found:
        print("nothing is violated")
    failing = {"MUST", "SHOULD"} if request.strict else {"MUST"}
    return int(any(fault.level in failing for fault in found))
