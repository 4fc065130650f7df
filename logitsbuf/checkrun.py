"""``logitsbuf check``: the suite in a child process, and the verdict from what it left behind.

A crash is never a pass. The child writes a journal; the verdict is made of it here. Without the
child's footer, whatever case it was making is settled as a violation of COPY-TOTAL.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from logitsbuf.case import Case
from logitsbuf.caseformat import from_json
from logitsbuf.engines.fetch import cache_directory
from logitsbuf.errors import HarnessError, UsageError
from logitsbuf.options import Request
from logitsbuf.verdict import Record

CONFORMS, VIOLATION = 0, 1
"""Exit codes; the others belong to errors (:mod:`logitsbuf.errors`), anything unforeseen is 3."""

_PYTEST_USAGE, _NOTHING_COLLECTED = 4, 5

RESTARTS = 2
"""After a crash the rest of the suite is run in a new child, this often."""


@dataclass(frozen=True, kw_only=True)
class Journal:
    """What a child left behind.

    running: the cases that processes were making when they ended, by worker.
    footer: pytest's exit status, None if the child did not get that far. refused: the exit code
    that a child chose which could not begin. resolving: whether the implementation was still being
    imported. troubles: what the harness says of itself.
    """

    records: tuple[Record, ...]
    running: tuple[Case, ...]
    footer: int | None
    refused: int | None
    resolving: bool
    troubles: tuple[str, ...]


def check(request: Request, *, workers: str | None, select: str | None) -> int:
    """Run the suite in a child and report; the exit code."""
    command = _command(request, workers, select)
    records: list[Record] = []
    for _ in range(1 + RESTARTS):
        status, journal = _run(command, done={record.scenario for record in records})
        if journal.refused is not None:
            return journal.refused  # the child has said why: a wrong name, an engine without triton
        if journal.resolving and journal.footer is None:
            raise UsageError(f"importing {request.implementation} ended the process")
        crashes = [_settled_crash(request, case) for case in journal.running]
        records += [*journal.records, *crashes]
        if not crashes:
            break
    return _report(request, tuple(records), journal, status)


def _run(command: list[str], done: set[str]) -> tuple[int, Journal]:
    """One child, which leaves out what is done; its exit status and what it left behind."""
    with tempfile.TemporaryDirectory(prefix="logitsbuf-") as folder:
        environment = _environment(folder) | {"LOGITSBUF_DONE": ",".join(sorted(done))}
        status = subprocess.run(command, env=environment, check=False).returncode
        return status, read_journal(Path(folder))


def _command(request: Request, workers: str | None, select: str | None) -> list[str]:
    properties = str(properties_folder())
    plugins = ["xdist.plugin", "_hypothesis_pytestplugin", "logitsbuf.plugin", "no:cacheprovider"]
    given = {
        "--impl": request.implementation,
        "--device": request.device,
        "--max-examples": request.max_examples,
        "--seed": request.seed,
        "--only": ",".join(request.only) or None,
        "-n": workers,
        "-k": select,
    }
    options = [
        part for name, value in given.items() if value is not None for part in (name, str(value))
    ]
    return [
        *(sys.executable, "-m", "pytest", properties),
        *("-c", str(Path(__file__).with_name("check.ini")), "--rootdir", properties),
        *("--confcutdir", properties, "--noconftest", "--import-mode=importlib"),
        *("-q", "--tb=no", "--no-summary", "--show-capture=no"),
        *(part for plugin in plugins for part in ("-p", plugin)),
        *options,
        *(["--strict-should"] if request.strict else []),
    ]


def properties_folder() -> Path:
    """Where the properties are: beside the package in a clone, or installed with it."""
    spec = find_spec("logitsbuf_properties")
    found = [Path(p) for p in (spec.submodule_search_locations or ())] if spec else []
    clone = Path(__file__).parents[1] / "properties"
    for folder in (clone, *found):
        if (folder / "test_copy.py").is_file():
            return folder
    raise HarnessError(f"the properties are neither installed nor at {clone}")


def _environment(folder: str) -> dict[str, str]:
    """The child's environment: pytest's own variables of a foreign project left out."""
    foreign = ("PYTEST_ADDOPTS", "PYTEST_PLUGINS", "LOGITSBUF_IMPL")
    environment = {k: v for k, v in os.environ.items() if k not in foreign}
    path = os.pathsep.join(filter(None, (os.getcwd(), os.environ.get("PYTHONPATH"))))
    own = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "LOGITSBUF_JOURNAL": folder, "PYTHONPATH": path}
    own["PYTHONWARNINGS"] = "ignore:Failed to initialize NumPy:UserWarning"
    own["HYPOTHESIS_STORAGE_DIRECTORY"] = str(cache_directory() / "hypothesis")
    return environment | own


def read_journal(folder: Path) -> Journal:
    """Everything that the processes of a run wrote down."""
    lines = [
        line for path in folder.glob("records-*.jsonl") for line in path.read_text().splitlines()
    ]
    running = [path.read_text() for path in folder.glob("running-*.json")]
    return Journal(
        records=tuple(Record.from_json(line) for line in lines),
        running=tuple(from_json(text) for text in running if text),
        footer=_number_in(folder / "finished"),
        refused=_number_in(folder / "refused"),
        resolving=(folder / "resolving").exists(),
        troubles=tuple(path.read_text() for path in folder.glob("trouble-*")),
    )


def _number_in(path: Path) -> int | None:
    return int(path.read_text()) if path.exists() else None


def _settled_crash(request: Request, case: Case) -> Record:
    from logitsbuf.confirm import Settler
    from logitsbuf.devices import resolve_device
    from logitsbuf.pristine import Pristine
    from logitsbuf.resolve import resolve

    device = resolve_device(request.device)
    implementation = resolve(request.implementation, str(device))
    with Pristine(implementation, device) as pristine:
        findings = Settler(pristine, [case]).settle_crash(case, "the process ended during the call")
    return Record(
        scenario=case.scenario,
        examples=1,
        seconds=0.0,
        exercised={"COPY-TOTAL": 1},
        findings=tuple(findings),
    )


def _report(request: Request, records: tuple[Record, ...], journal: Journal, status: int) -> int:
    from logitsbuf.devices import resolve_device
    from logitsbuf.report.files import write_scripts
    from logitsbuf.report.text import findings_text, run_table
    from logitsbuf.verdict import conforms

    findings = [finding for record in records for finding in record.findings]
    if any(finding.level != "MAY" for finding in findings):
        scripts = write_scripts(findings, request, resolve_device(request.device))
        print(f"\n{findings_text(findings, request.implementation, scripts)}")
    complete = journal.footer == status == 0
    print(f"\n{run_table(records, request, complete=complete)}", flush=True)
    if not conforms(findings, strict=request.strict):
        return VIOLATION
    if status == _NOTHING_COLLECTED:
        raise UsageError("no scenario was selected; see `logitsbuf list`")
    if status == _PYTEST_USAGE:
        raise UsageError("pytest did not take the options; its message is above")
    if journal.troubles:
        raise HarnessError("; ".join(journal.troubles))
    if not complete:
        raise HarnessError(f"the suite ended with status {status} before it was finished")
    return CONFORMS
