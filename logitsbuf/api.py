"""The suite as a function, for an adopter's own test."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from logitsbuf.contract import Contract
from logitsbuf.devices import resolve_device
from logitsbuf.errors import UsageError
from logitsbuf.report.text import findings_text
from logitsbuf.resolve import as_implementation
from logitsbuf.run import Options, Runner, scenarios_for
from logitsbuf.spec import BY_ID
from logitsbuf.verdict import Finding, Record, Row, conforms, table


class ViolationError(AssertionError):
    """The implementation violates the specification; the message has every finding."""


@dataclass(frozen=True, kw_only=True)
class Report:
    """What a check found.

    implementation: the text that names it, None for an object. rows: the verdict per invariant.
    findings: every violation, reduced and confirmed.
    """

    implementation: str | None
    records: tuple[Record, ...]
    rows: tuple[Row, ...]
    strict: bool = False

    @property
    def findings(self) -> tuple[Finding, ...]:
        return tuple(finding for record in self.records for finding in record.findings)

    @property
    def conforms(self) -> bool:
        return conforms(self.findings, strict=self.strict)

    def raise_for_violations(self) -> None:
        """Raise ViolationError unless the implementation conforms."""
        if not self.conforms:
            raise ViolationError(findings_text(self.findings, self.implementation))


def check(
    implementation: Callable[..., Any] | str | object,
    *,
    device: str | None = None,
    max_examples: int = 40,
    seed: int | None = None,
    only: tuple[str, ...] = (),
    scenarios: tuple[str, ...] = (),
    strict: bool = False,
    contract: Contract | None = None,
) -> Report:
    """Run the suite against an implementation, in this process and without pytest.

    implementation: ``fn(logits, buffer, vocab_size)``, an object with ``copy_logits_to_buffer``,
        or a text as ``logitsbuf check`` takes it.
    device: ``cpu``, ``cuda`` or ``cuda:N``; None takes CUDA where there is one.
    max_examples: drawn for each scenario after its sweep. seed: fixes what is drawn.
    only: ids of invariants to judge. scenarios: names of scenarios to run. strict: a violated
        SHOULD fails. contract: what the implementation promises, instead of its own.

    UsageError if an argument names nothing. No global state is changed.
    """
    if unknown := set(only) - set(BY_ID):
        raise UsageError(f"unknown invariants {sorted(unknown)}; expected some of {list(BY_ID)}")
    where = resolve_device(device)
    target = as_implementation(implementation, str(where))
    if contract is not None:
        target = replace(target, contract=contract)
    options = Options(max_examples=max_examples, seed=seed, only=frozenset(only))
    with Runner(target, where, options) as runner:
        records = tuple(runner.run(scenario) for scenario in scenarios_for(scenarios))
    rows = table(records, options.only)
    return Report(implementation=target.spec, records=records, rows=rows, strict=strict)
