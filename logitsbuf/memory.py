"""Counterexamples that outlive a run, in one of Hypothesis's example databases.

What is kept is the reduced case as JSON, not Hypothesis's choices: a case replays whatever the
strategies have become since, and is the same for every seed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from hypothesis.database import ExampleDatabase

from logitsbuf.case import Case
from logitsbuf.caseformat import from_json, to_json
from logitsbuf.errors import UsageError
from logitsbuf.verdict import Finding


class Memory:
    """The counterexamples of one implementation. Without a database it keeps nothing."""

    def __init__(self, database: ExampleDatabase | None) -> None:
        self._database = database

    def recall(self, scenario: str) -> list[Case]:
        """Cases that failed in this scenario, the shortest first."""
        if self._database is None:
            return []
        texts = sorted(self._database.fetch(scenario.encode()), key=len)
        return list(self._readable(scenario, texts))

    def _readable(self, scenario: str, texts: Iterable[bytes]) -> Iterator[Case]:
        for text in texts:
            try:
                yield from_json(text.decode(errors="replace"))
            except UsageError:  # of another version: it is no use any more
                self._delete(scenario, text)

    def keep(self, findings: Iterable[Finding]) -> None:
        """Save the cases of confirmed findings."""
        for finding in findings:
            if self._database is not None and finding.status == "confirmed":
                self._database.save(finding.scenario.encode(), to_json(finding.case).encode())

    def forget(self, case: Case) -> None:
        """Drop a case that fails no more."""
        self._delete(case.scenario, to_json(case).encode())

    def _delete(self, scenario: str, text: bytes) -> None:
        if self._database is not None:
            self._database.delete(scenario.encode(), text)
