"""A counterexample as a script that needs torch alone, fit for a bug report.

It builds the tensors, calls the implementation and asserts one invariant. Nothing of logitsbuf is
in it, so that whoever gets the report can run it.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from itertools import groupby

import torch

from logitsbuf import __version__
from logitsbuf.case import Call, Mode
from logitsbuf.report.assertions import MAY_RAISE, after, before, needed_imports
from logitsbuf.report.tensors import buffer_lines, logits_lines
from logitsbuf.spec import BY_ID
from logitsbuf.verdict import Finding

_CONTEXTS: dict[Mode, str] = {
    "no_grad": "torch.no_grad()",
    "inference_mode": "torch.inference_mode()",
    "inference_tensors": "torch.inference_mode()",
    "autocast_bfloat16": "torch.autocast(device.type, dtype=torch.bfloat16)",
    "autocast_float16": "torch.autocast(device.type, dtype=torch.float16)",
    "default_device_meta": 'torch.device("meta")',
}


def script(finding: Finding, implementation: str, device: torch.device) -> str:
    """The whole script."""
    lines = [*_heading(finding), "import torch", *needed_imports(finding.cause), ""]
    lines += [_adapter(implementation), f'device = torch.device("{device}")', ""]
    lines += _call_lines(finding)
    lines.append(f'print("{finding.invariant} holds here")')
    return "\n".join(lines) + "\n"


def _heading(finding: Finding) -> list[str]:
    statement = f"{finding.invariant}: {BY_ID[finding.invariant].statement}"
    seen = f"Expected {finding.expected}; observed {finding.observed}."
    text = textwrap.wrap(statement, 96) + textwrap.wrap(seen, 96)
    return [f"# {line}" for line in [*text, f"Found by logitsbuf {__version__}."]]


def _adapter(implementation: str) -> str:
    """The line that gets the function; to be filled in where no import statement can say it."""
    module, colon, attribute = implementation.partition(":")
    if implementation == "reference":
        return "from logitsbuf import copy_logits_to_buffer"
    if not colon or module == "mutant" or not all(p.isidentifier() for p in attribute.split(".")):
        hint = f"put {implementation} here: fn(logits, buffer, vocab_size)"
        return f"copy_logits_to_buffer = ...  # {hint}"
    first, _, rest = attribute.partition(".")
    name = f"from {module} import {first} as target"
    access = f"target.{rest}" if rest else "target"
    return f'{name}\ncopy_logits_to_buffer = getattr({access}, "copy_logits_to_buffer", {access})'


def _call_lines(finding: Finding) -> Iterator[str]:
    """Calls up to the faulty one; equal calls in a row become a loop."""
    *earlier, last = finding.case.calls
    if earlier:
        yield "results, storages = [], []"
    for call, group in groupby(earlier):
        times = len(list(group))
        body = list(_one_call(call))
        body += ["results.append((out, out.clone()))"] if call.expects == "fallback" else []
        body += ["storages.append((logits_storage, buffer_storage))"]
        if times > 1:
            body = [f"for _ in range({times}):", *(f"    {line}" for line in body)]
        yield from body
    yield from _one_call(last, finding)
    yield from after(finding, last)


def _one_call(call: Call, finding: Finding | None = None) -> Iterator[str]:
    body = [*buffer_lines(call), *logits_lines(call)]
    if call.mode == "inference_tensors":
        body = ["with torch.inference_mode():", *(f"    {line}" for line in body)]
    yield from body
    if finding is not None:
        yield from before(finding, call)
    lines = _invocation(call, recorded=finding is not None and finding.cause.startswith("COST"))
    if call.expects == "refusal" or (finding is not None and finding.cause in MAY_RAISE):
        yield from ("refused = False", "try:", *(f"    {line}" for line in lines))
        yield from ("except Exception:", "    refused = True")
    else:
        yield from lines


def _invocation(call: Call, *, recorded: bool) -> Iterator[str]:
    line = f"out = copy_logits_to_buffer(logits, buffer, {call.vocab_size})"
    contexts = [_CONTEXTS[call.mode]] if call.mode in _CONTEXTS else []
    contexts += ["Record() as record"] if recorded else []
    if call.mode in ("default_float64", "default_float16", "default_bfloat16"):
        dtype = call.mode.removeprefix("default_")
        yield f"torch.set_default_dtype(torch.{dtype})"
        yield line
        yield "torch.set_default_dtype(torch.float32)"
    elif contexts:
        yield f"with {', '.join(contexts)}:"
        yield f"    {line}"
    else:
        yield line
