"""The pytest plug-in: options, one fixture, and the verdict table. A thin shell around the runner.

Loaded by the clone's ``conftest.py``, or by name with ``-p logitsbuf.plugin``. There is no
``pytest11`` entry point: it would enter every pytest run of whoever installs logitsbuf.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from logitsbuf.errors import HarnessError, LogitsbufError, UsageError
from logitsbuf.options import Request, parse_count, parse_only
from logitsbuf.verdict import Record

if TYPE_CHECKING:
    from logitsbuf.session import Session

JOURNAL = "LOGITSBUF_JOURNAL"
"""Environment variable: the folder in which ``logitsbuf check`` wants a journal."""

DONE = "LOGITSBUF_DONE"
"""Environment variable: scenarios that were judged before a crash, separated by commas."""

_REQUEST = pytest.StashKey[Request]()
_SESSION = pytest.StashKey["Session"]()
_PROPERTY = "logitsbuf"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("logitsbuf")
    group.addoption("--impl", help="implementation: reference, pkg.mod:attr, sglang[==X|@PATH]")
    group.addoption("--device", help="cpu, cuda or cuda:N (default: CUDA where there is one)")
    group.addoption("--max-examples", help="examples that Hypothesis draws for each scenario")
    group.addoption("--seed", help="fixes what is drawn (default: a random one, shown)")
    group.addoption("--only", action="append", help="judge these invariants alone")
    # pytest has a --strict of its own.
    group.addoption("--strict-should", action="store_true", help="a violated SHOULD fails")
    group.addoption("--repro-dir", help="write a stand-alone script for each finding here")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    try:
        config.stash[_REQUEST] = _request(config)
    except LogitsbufError as error:
        raise pytest.UsageError(f"logitsbuf: {error}") from None
    if not _workerinput(config):
        config.pluginmanager.register(_Controller(config), "logitsbuf-controller")


def _request(config: pytest.Config) -> Request:
    if not __debug__:
        raise UsageError("python -O removes asserts; run without it")
    return Request(
        implementation=_named(config) or "reference",
        device=config.getoption("device"),
        max_examples=parse_count("--max-examples", config.getoption("max_examples"), 1),
        seed=_seed(config),
        only=parse_only(config.getoption("only")),
        strict=config.getoption("strict_should"),
        repro_dir=config.getoption("repro_dir"),
    )


def _named(config: pytest.Config) -> str | None:
    """The implementation that the user names, by option or environment."""
    named: str | None = config.getoption("impl")
    if named is not None and not named.strip():
        raise UsageError("--impl is empty; expected reference, pkg.mod:attr, …")
    return named or os.environ.get("LOGITSBUF_IMPL")


def _seed(config: pytest.Config) -> int | None:
    """The run's seed: ours, unless Hypothesis was given one or derandomizes."""
    from hypothesis import settings

    from logitsbuf.options import random_seed

    if "logitsbuf_seed" in (received := _workerinput(config)):
        return received["logitsbuf_seed"]  # type: ignore[no-any-return]
    chosen = parse_count("--seed", config.getoption("seed"), 0)
    theirs = settings.default is not None and settings.default.derandomize
    theirs = theirs or config.getoption("--hypothesis-seed", None) is not None
    return random_seed() if chosen is None and not theirs else chosen


def _workerinput(config: pytest.Config) -> dict[str, Any]:
    """What xdist's controller handed to this worker; empty in the controller."""
    received: dict[str, Any] = getattr(config, "workerinput", {})
    return received


@pytest.fixture
def prove(request: pytest.FixtureRequest) -> Callable[[str], None]:
    """Run one scenario against the implementation; fail with every finding that counts."""

    def run(scenario: str) -> None:
        if scenario in os.environ.get(DONE, "").split(","):
            pytest.skip("judged before the process was restarted")
        session = _session(request.config)
        try:
            record = session.run(scenario)
        except HarnessError as error:
            _trouble(f"{scenario}: {error}")
            pytest.fail(f"the harness failed, not the implementation: {error}", pytrace=False)
        except Exception as error:
            _trouble(f"{scenario}: {type(error).__name__}: {error}")
            raise
        request.node.user_properties.append((_PROPERTY, record.to_json()))
        if message := session.failure(record):
            pytest.fail(message, pytrace=False)

    return run


def _trouble(text: str) -> None:
    """Leave word for ``logitsbuf check``, which shows no tracebacks."""
    if folder := os.environ.get(JOURNAL):
        Path(folder, f"trouble-{os.getpid()}").write_text(text)


def _session(config: pytest.Config) -> Session:
    """This process's session, made for its first property: nothing was called before."""
    if _SESSION not in config.stash:
        from logitsbuf.session import Journal, Session

        folder, worker = os.environ.get(JOURNAL), _workerinput(config).get("workerid", "main")
        journal = Journal(Path(folder), worker) if folder else None
        config.stash[_SESSION] = Session(config.stash[_REQUEST], journal)
    return config.stash[_SESSION]


def pytest_unconfigure(config: pytest.Config) -> None:
    if _SESSION in config.stash:
        config.stash[_SESSION].close()
        del config.stash[_SESSION]


class _Controller:
    """Hooks of the process that reports: under xdist the controller, else the only one."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._request = config.stash[_REQUEST]
        self._records: list[Record] = []

    @pytest.hookimpl(trylast=True)
    def pytest_sessionstart(self) -> None:
        """Say what is judged, before anything is."""
        lines = self._header()
        reporter: Any = self._config.pluginmanager.get_plugin("terminalreporter")
        if reporter is not None:
            reporter.write_line("\n".join(lines))

    def _header(self) -> list[str]:
        """Resolve once, so that a wrong name is one message and not one error per property."""
        if not self._runs_properties():
            return []
        from logitsbuf.devices import resolve_device
        from logitsbuf.report.header import header
        from logitsbuf.resolve import resolve

        journal = Path(folder) if (folder := os.environ.get(JOURNAL)) else None
        try:
            device = resolve_device(self._request.device)
            if journal:
                (journal / "resolving").touch()
            implementation = resolve(self._request.implementation, str(device))
        except LogitsbufError as error:
            if journal:
                (journal / "refused").write_text(str(error.exit_code))
            raise pytest.UsageError(f"logitsbuf: {error}") from None
        if journal:
            (journal / "resolving").unlink()
        return header(self._request, implementation, device)

    def _runs_properties(self) -> bool:
        """Whether an implementation was named, or the properties are among what is run."""
        paths = [str(argument) for argument in self._config.args]
        return bool(_named(self._config)) or any("properties" in path for path in paths)

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """xdist: every worker draws from the seed that the header shows."""
        node.workerinput["logitsbuf_seed"] = self._request.seed

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call":
            found = [text for name, text in report.user_properties if name == _PROPERTY]
            self._records += [Record.from_json(str(text)) for text in found]

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if not self._records or os.environ.get(JOURNAL):
            return
        from logitsbuf.report.text import run_table

        terminalreporter.section("logitsbuf")
        terminalreporter.write_line(run_table(self._records, self._request, complete=True))

    def pytest_sessionfinish(self, exitstatus: int) -> None:
        """The footer: without it, ``logitsbuf check`` takes the run for crashed."""
        if folder := os.environ.get(JOURNAL):
            Path(folder, "finished").write_text(str(int(exitstatus)))
