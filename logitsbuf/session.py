"""One process's part of a suite run: the runner, and what it hands on to whoever reports.

Records go through pytest's own channel, which xdist carries. Under ``logitsbuf check`` they are
written to a journal as well, together with the case that is being made, so that an
implementation that ends the process loses nothing but its own excuse.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from hypothesis import settings
from hypothesis.database import DirectoryBasedExampleDatabase, ExampleDatabase

from logitsbuf.case import Case
from logitsbuf.caseformat import to_json
from logitsbuf.devices import resolve_device
from logitsbuf.implementation import Implementation
from logitsbuf.options import Request
from logitsbuf.report.files import write_scripts
from logitsbuf.report.text import findings_text
from logitsbuf.resolve import resolve
from logitsbuf.run import DEFAULT_EXAMPLES, Options, Runner
from logitsbuf.scenarios import SCENARIOS
from logitsbuf.verdict import Record, conforms


class Session:
    """Runs scenarios of one request in this process. Close it when done."""

    def __init__(self, request: Request, journal: Journal | None = None) -> None:
        self.request = request
        self.device = resolve_device(request.device)
        self.implementation: Implementation = resolve(request.implementation, str(self.device))
        self._journal = journal
        options = Options(
            max_examples=request.max_examples or DEFAULT_EXAMPLES,
            seed=request.seed,
            only=frozenset(request.only),
            database=_database(request.implementation),
            started=self._started,
        )
        self._runner = Runner(self.implementation, self.device, options)
        self._runner.__enter__()

    def close(self) -> None:
        """Release the processes that replays come from."""
        self._runner.__exit__(None, None, None)

    def run(self, scenario: str) -> Record:
        """One scenario's record, journalled."""
        record = self._runner.run(SCENARIOS[scenario])
        if self._journal is not None:
            self._journal.finished(record)
        return record

    def _started(self, case: Case) -> None:
        if self._journal is not None:
            self._journal.started(case)

    def failure(self, record: Record) -> str | None:
        """Every finding of a record as text, None if it conforms. Scripts are written if asked."""
        scripts = write_scripts(record.findings, self.request, self.device)
        if conforms(record.findings, strict=self.request.strict):
            return None
        return findings_text(record.findings, self.request.implementation, scripts)


def _database(implementation: str) -> ExampleDatabase | None:
    """Counterexamples by implementation, unless the user's profile keeps none (as under CI)."""
    if settings.default is None or settings.default.database is None:
        return None
    root = Path(os.environ.get("HYPOTHESIS_STORAGE_DIRECTORY", ".hypothesis"))
    digest = hashlib.sha256(implementation.encode()).hexdigest()[:16]
    return DirectoryBasedExampleDatabase(root / "logitsbuf" / digest)


class Journal:
    """A folder that outlives the process: finished records, and the case being made."""

    def __init__(self, folder: Path, worker: str) -> None:
        self._records = folder / f"records-{worker}.jsonl"
        self._running = (folder / f"running-{worker}.json").open("w")

    def started(self, case: Case) -> None:
        """Note the case before its first call."""
        self._running.seek(0)
        self._running.truncate()
        self._running.write(to_json(case))
        self._running.flush()

    def finished(self, record: Record) -> None:
        """Note a record; nothing is being made now."""
        with self._records.open("a") as stream:
            stream.write(record.to_json() + "\n")
        self._running.seek(0)
        self._running.truncate()
        self._running.flush()
