"""What a run found, as data: findings, records of scenarios, and the verdict per invariant."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from logitsbuf.case import Case
from logitsbuf.caseformat import from_json, to_json
from logitsbuf.spec import INVARIANTS, Level

Status = Literal["confirmed", "history-dependent", "unstable", "noted"]
"""How a finding fared in a process in which the implementation had never been called:
it failed there as well; only a history of calls makes it fail (COPY-PURE names that history); it
could not be reproduced; nobody tried (it only informs, or no such process could be made)."""

Verdict = Literal["pass", "fail", "warn", "inform", "history-dependent", "not exercised"]

VERDICT_ORDER: tuple[Verdict, ...] = ("fail", "history-dependent", "warn", "inform", "pass")


@dataclass(frozen=True, kw_only=True)
class Finding:
    """A violated invariant in a scenario, with its reduced case.

    cause: the invariant whose check spoke. note: what a reader must know of how it was
    confirmed, or nothing.
    """

    scenario: str
    invariant: str
    level: Level
    expected: str
    observed: str
    cause: str
    case: Case
    status: Status
    note: str = ""

    @property
    def fails(self) -> bool:
        """Whether it fails a run that is not strict."""
        return self.level == "MUST"


@dataclass(frozen=True, kw_only=True)
class Record:
    """One scenario's run: how many examples, which invariants they exercised, what they found.

    promoted: invariants that the implementation's contract makes a MUST.
    """

    scenario: str
    examples: int
    seconds: float
    exercised: dict[str, int] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    promoted: tuple[str, ...] = ()

    def to_json(self) -> str:
        """For another process."""
        data = asdict(self) | {"findings": [_finding_data(f) for f in self.findings]}
        return json.dumps(data)

    @staticmethod
    def from_json(text: str) -> Record:
        """Read what :meth:`to_json` wrote."""
        data = json.loads(text)
        findings = (Finding(**{**f, "case": from_json(f["case"])}) for f in data.pop("findings"))
        promoted = tuple(data.pop("promoted"))
        return Record(**data, findings=tuple(findings), promoted=promoted)


def _finding_data(finding: Finding) -> dict[str, Any]:
    return {**vars(finding), "case": to_json(finding.case)}


@dataclass(frozen=True, kw_only=True)
class Row:
    """The verdict on one invariant, and what it rests on."""

    invariant: str
    level: Level
    verdict: Verdict
    examples: int
    scenarios: tuple[str, ...]


def table(records: Iterable[Record], only: frozenset[str] = frozenset()) -> tuple[Row, ...]:
    """A row for every invariant of the registry (or of ``only``), exercised or not."""
    records = tuple(records)
    promoted = {name for record in records for name in record.promoted}
    return tuple(
        _row(invariant.id, "MUST" if invariant.id in promoted else invariant.level, records)
        for invariant in INVARIANTS
        if not only or invariant.id in only
    )


def _row(invariant: str, level: Level, records: tuple[Record, ...]) -> Row:
    examples = sum(record.exercised.get(invariant, 0) for record in records)
    findings = [f for record in records for f in record.findings if f.invariant == invariant]
    scenarios = {f.scenario for f in findings} or {
        record.scenario for record in records if record.exercised.get(invariant)
    }
    return Row(
        invariant=invariant,
        level=level,
        verdict=_verdict(findings, examples),
        examples=examples,
        scenarios=tuple(sorted(scenarios)),
    )


def _verdict(findings: list[Finding], examples: int) -> Verdict:
    found = {_weight(finding) for finding in findings} or {"pass" if examples else "not exercised"}
    return next((v for v in VERDICT_ORDER if v in found), "not exercised")


def _weight(finding: Finding) -> Verdict:
    if finding.status == "history-dependent":
        return "history-dependent"
    by_level: dict[Level, Verdict] = {"MUST": "fail", "SHOULD": "warn", "MAY": "inform"}
    return by_level[finding.level]


def conforms(findings: Iterable[Finding], *, strict: bool) -> bool:
    """Whether a run with these findings passes."""
    return not any(f.fails or (strict and f.level == "SHOULD") for f in findings)
