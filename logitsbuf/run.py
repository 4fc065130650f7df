"""The runner: one scenario, or all of them, against one implementation.

pytest items and :func:`logitsbuf.check` call the same runner. It judges the sweep first, then lets
Hypothesis search; a violation is settled (reduced, confirmed) as soon as it is found, and muted
afterwards, so that the search goes on for others.
"""

from __future__ import annotations

import gc
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any

import torch
from hypothesis import HealthCheck, Phase, Verbosity, given, seed, settings
from hypothesis.database import ExampleDatabase
from hypothesis.strategies import SearchStrategy

from logitsbuf import interrupt
from logitsbuf.case import Case
from logitsbuf.confirm import Settler
from logitsbuf.errors import HarnessError, UsageError
from logitsbuf.implementation import Implementation
from logitsbuf.judge import Found, Key, judge, promoted
from logitsbuf.memory import Memory
from logitsbuf.modes import default_device
from logitsbuf.pristine import First, Pristine, prepare_process
from logitsbuf.scenarios import SCENARIOS, Scenario
from logitsbuf.verdict import Finding, Record

DEFAULT_EXAMPLES = 200

_FIRST_CALLS = 2  # a process costs as much as fifty calls; what the first call decides, two show


@dataclass(frozen=True, kw_only=True)
class Options:
    """How to run.

    max_examples: drawn by Hypothesis for each scenario, after the sweep. seed: None lets
    Hypothesis choose. only: invariants to judge, empty for all. database: where counterexamples
    are kept for the next run. started: told of each case before its first call.
    """

    max_examples: int = DEFAULT_EXAMPLES
    seed: int | None = None
    only: frozenset[str] = frozenset()
    database: ExampleDatabase | None = None
    started: Callable[[Case], None] = lambda case: None


class _Violated(Exception):
    """Tells Hypothesis that an example failed; what failed is on record already."""


class Runner:
    """Runs scenarios against an implementation in this process. Use as a context manager."""

    def __init__(self, implementation: Implementation, device: torch.device, options: Options):
        self._calls = 0
        self._open = ExitStack()
        self._implementation = replace(implementation, copy=self._counted(implementation.copy))
        self._device = device
        self._options = options
        self._history: list[Case] = []
        self.memory = Memory(options.database)
        # The zygote gets the bare function: it is forked now, and has no past.
        self._pristine = Pristine(implementation, device)
        self._settler = Settler(self._pristine, self._history)

    def __enter__(self) -> Runner:
        self._open.enter_context(self._pristine)
        self._open.enter_context(_surroundings())
        return self

    def __exit__(self, *exception: object) -> None:
        self._open.close()

    def _counted(self, copy: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*arguments: Any) -> Any:
            self._calls += 1
            return copy(*arguments)

        return counted

    def run(self, scenario: Scenario) -> Record:
        """Sweep and search one scenario. HarnessError if the implementation was never called."""
        calls, started = self._calls, time.perf_counter()
        search = _Search(self, scenario)
        search.remember()
        search.sweep()
        if scenario.afresh and self._device.type == "cpu":  # elsewhere each process takes seconds
            search.sweep_afresh()
        search.explore()
        if self._calls == calls:
            raise HarnessError(f"{scenario.name} never called the implementation")
        return Record(
            scenario=scenario.name,
            examples=search.examples,
            seconds=round(time.perf_counter() - started, 3),
            exercised=dict(search.exercised),
            findings=tuple(search.findings),
            promoted=promoted(self._implementation.contract),
        )

    def judge(self, case: Case) -> tuple[frozenset[str], list[Found]]:
        """Make one case's calls, remember it, and keep what the options ask for."""
        self._options.started(case)
        self._history.append(case)
        judgement = judge(self._implementation, case, self._device)
        only = self._options.only
        exercised = judgement.exercised & only if only else judgement.exercised
        return exercised, self._asked(judgement.found)

    def judge_afresh(self, case: Case) -> list[Found]:
        """The same in a process in which nothing was called yet."""
        answer = self._pristine.replay((case,), None)
        return self._asked(answer.found) if isinstance(answer, First) else []

    def _asked(self, found: Iterable[Found]) -> list[Found]:
        only = self._options.only
        return [f for f in found if not only or f.invariant in only]

    def settle(self, case: Case, found: Found) -> list[Finding]:
        """Reduce and confirm. The case itself is the last entry of the history."""
        return self._settler.settle(case, found)

    @property
    def options(self) -> Options:
        return self._options


class _Search:
    """One scenario's examples, and what they have shown so far."""

    def __init__(self, runner: Runner, scenario: Scenario) -> None:
        self._runner = runner
        self._scenario = scenario
        self._muted: set[Key] = set()
        self._shown: Case | None = None
        self.examples = 0
        self.exercised: Counter[str] = Counter()
        self.findings: list[Finding] = []

    def remember(self) -> None:
        """Counterexamples of earlier runs first; what fails no more is forgotten."""
        for case in self._runner.memory.recall(self._scenario.name):
            found = self._judge(case)
            self._settle(case, found)
            if all(fault.level == "MAY" for fault in found):
                self._runner.memory.forget(case)

    def sweep(self) -> None:
        for case in self._scenario.sweep():
            self._try(case)

    def sweep_afresh(self) -> None:
        """Its short sequences once more, each in a process in which nothing was called yet."""
        for case in self._scenario.sweep():
            if len(case.calls) <= _FIRST_CALLS:
                self.examples += 1
                self._settle(case, self._runner.judge_afresh(case))

    def explore(self) -> None:
        """Search until the budget is used up; each new kind of violation restarts the search."""
        strategy = self._scenario.strategy
        end = self.examples + self._runner.options.max_examples
        while strategy is not None and self.examples < end:
            try:
                self._hypothesis(strategy, end - self.examples)
            except _Violated:
                continue
            return

    def _hypothesis(self, strategy: SearchStrategy[Case], examples: int) -> None:
        self._shown = None

        def example(case: Case) -> None:
            # Hypothesis makes the failing example once more; it is on record already.
            if case == self._shown or self._try(case):
                self._shown = case
                raise _Violated

        run = _settings(examples)(given(strategy)(example))
        chosen = self._runner.options.seed
        (run if chosen is None else seed(chosen + self.examples)(run))()

    def _try(self, case: Case) -> bool:
        """Judge a case; whether it shows a kind of violation that was not known."""
        return self._settle(case, self._judge(case))

    def _judge(self, case: Case) -> list[Found]:
        self.examples += 1
        exercised, found = self._runner.judge(case)
        self.exercised.update(exercised)
        return found

    def _settle(self, case: Case, found: list[Found]) -> bool:
        new = [f for f in found if f.key not in self._muted]
        self._muted.update(f.key for f in new)
        for fault in {f.key: f for f in reversed(new)}.values():
            self._add(self._runner.settle(case, fault))
        if new:
            self._runner.memory.keep(self.findings)
        return bool(new)

    def _add(self, findings: list[Finding]) -> None:
        known = {(f.invariant, f.level, f.status) for f in self.findings}
        self.findings += [f for f in findings if (f.invariant, f.level, f.status) not in known]


def _settings(examples: int) -> settings:
    return settings(
        settings.default,
        max_examples=examples,
        deadline=None,
        database=None,  # the runner remembers cases, which outlive a change of strategy
        phases=(Phase.generate,),
        suppress_health_check=list(HealthCheck),
        verbosity=Verbosity.quiet,
        print_blob=False,
        report_multiple_bugs=False,
    )


@contextmanager
def _surroundings() -> Iterator[None]:
    """The global state that a run needs, put back afterwards."""
    threads, always = torch.get_num_threads(), torch.is_warn_always_enabled()
    device = default_device()
    prepare_process()
    try:
        with interrupt.watching():
            yield
    finally:
        torch.set_num_threads(threads)
        torch.set_warn_always(always)
        torch.set_default_device(None if device.type == "cpu" else device)
        gc.unfreeze()


def scenarios_for(names: tuple[str, ...] = ()) -> list[Scenario]:
    """Scenarios by name, all of them for no name. UsageError for an unknown one."""
    if unknown := set(names) - set(SCENARIOS):
        raise UsageError(f"unknown scenarios {sorted(unknown)}; expected some of {list(SCENARIOS)}")
    return [SCENARIOS[name] for name in names] if names else list(SCENARIOS.values())
