"""Findings and verdicts as text."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby

from logitsbuf.case import Case
from logitsbuf.caseformat import to_json
from logitsbuf.options import Request
from logitsbuf.spec import BY_ID
from logitsbuf.verdict import Finding, Record, Row, conforms, table


def run_table(records: Sequence[Record], request: Request, *, complete: bool) -> str:
    """The verdict table of a run, and the sentence that sums it up."""
    findings = [finding for record in records for finding in record.findings]
    rows = table(records, frozenset(request.only))
    verdict = "conforms" if complete else "was not judged to the end"
    if not conforms(findings, strict=request.strict):
        verdict = "does not conform"
    examples = sum(record.examples for record in records)
    total = f"{examples} examples in {len(records)} scenarios"
    return f"{table_text(rows)}\n\n{request.implementation} {verdict} ({total})"


def table_text(rows: Sequence[Row]) -> str:
    """One line per invariant: id, level, verdict, applicable examples, scenarios."""
    width = max((len(row.invariant) for row in rows), default=0)
    lines = [f"{'invariant':<{width}}  {'level':<6}  {'verdict':<17}  examples  scenarios"]
    lines += [_row_text(row, width) for row in rows]
    return "\n".join(lines)


def _row_text(row: Row, width: int) -> str:
    shown = row.scenarios if row.verdict not in ("pass", "not exercised") else ()
    where = ", ".join(shown) or (f"{len(row.scenarios)} scenarios" if row.scenarios else "")
    text = (
        f"{row.invariant:<{width}}  {row.level:<6}  {row.verdict:<17}  {row.examples:>8}  {where}"
    )
    return text.rstrip()


def findings_text(
    findings: Iterable[Finding],
    implementation: str | None,
    scripts: Mapping[Case, str] | None = None,
) -> str:
    """A block for each scenario and reduced case: sentences, what was seen, how to see it again.

    implementation: the text that names it, None for one that was handed over as an object.
    """
    shown = [f for f in findings if f.level != "MAY"]
    said: set[str] = set()
    blocks = [
        _block(list(group), implementation, (scripts or {}).get(case), said)
        for (_, case), group in groupby(_sorted(shown), key=lambda f: (f.scenario, f.case))
    ]
    return "\n\n".join(blocks)


def _sorted(findings: list[Finding]) -> list[Finding]:
    """By scenario as they ran, faults that share a case side by side."""
    order = {f.scenario: i for i, f in reversed(list(enumerate(findings)))}
    cases = {(f.scenario, f.case): i for i, f in reversed(list(enumerate(findings)))}
    return sorted(findings, key=lambda f: (order[f.scenario], cases[f.scenario, f.case]))


def _block(
    findings: list[Finding], implementation: str | None, script: str | None, said: set[str]
) -> str:
    case = findings[0].case
    lines = [f"{findings[0].scenario}:"]
    for finding in findings:
        lines += _finding_lines(finding, said)
    lines += [f"  case:     {case}", f"  replay:   {replay_command(implementation, case)}"]
    return "\n".join([*lines, f"  script:   {script}"] if script else lines)


def _finding_lines(finding: Finding, said: set[str]) -> list[str]:
    """The invariant's sentence stands where it is named first."""
    verb = "violated" if finding.status != "history-dependent" else "history-dependent"
    sentence = "" if finding.invariant in said else f": {BY_ID[finding.invariant].statement}"
    said.add(finding.invariant)
    lines = [
        f"  {finding.invariant} ({finding.level}) {verb}{sentence}",
        f"    expected: {finding.expected}",
        f"    observed: {finding.observed}",
    ]
    return [*lines, f"    note:     {finding.note}"] if finding.note else lines


def replay_command(implementation: str | None, case: Case) -> str:
    """What makes this case's calls again, in a process in which nothing was called yet."""
    if implementation is None:
        return f"logitsbuf.replay(fn, {to_json(case)!r})"
    return f"logitsbuf check {shlex.quote(implementation)} --replay {shlex.quote(to_json(case))}"
