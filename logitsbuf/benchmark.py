"""``python -m logitsbuf.benchmark``: the budgets of the design, measured.

Rates on a shared machine mean little, ratios inside one run mean something: each scenario's
examples are drawn with an empty body and with the real one, turn by turn. Compare ratios.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from statistics import median

import torch
from hypothesis import HealthCheck, Phase, given, seed, settings

from logitsbuf.case import Case
from logitsbuf.judge import judge
from logitsbuf.pristine import prepare_process
from logitsbuf.resolve import resolve
from logitsbuf.scenarios import SCENARIOS, Scenario

ROUNDS = 5
EXAMPLES = 300
CPU = torch.device("cpu")


def main() -> int:
    """Print every measurement beside its budget."""
    prepare_process()
    print(f"{'scenario':<22} {'sweep, cases':>12} {'ms':>6} {'examples/s':>10} {'× empty':>8}")
    rates, ratios, sweeps = [], [], []
    for scenario in SCENARIOS.values():
        if scenario.strategy is None:
            continue
        cases, milliseconds = _sweep(scenario)
        rate, ratio = _search(scenario)
        rates.append(rate)
        ratios.append(ratio)
        sweeps.append(milliseconds)
        print(f"{scenario.name:<22} {cases:>12} {milliseconds:>6.0f} {rate:>10.0f} {ratio:>8.2f}")
    print(f"\nexamples/s, median {median(rates):.0f} (budget: at least 700)")
    print(f"× empty body, median {median(ratios):.2f} (budget: at most 1.5)")
    print(f"sweep of a scenario, median {median(sweeps):.0f} ms (budget: at most 50 ms)")
    _commands()
    return 0


def _sweep(scenario: Scenario) -> tuple[int, float]:
    cases, run = scenario.sweep(), _body()
    return len(cases), 1000 * min(_seconds(lambda: [run(case) for case in cases]) for _ in range(3))


def _search(scenario: Scenario) -> tuple[float, float]:
    """Examples per second, and how much longer one takes than with an empty body."""
    full, empty = _examples(scenario, _body()), _examples(scenario, lambda _: None)
    pairs = [(_seconds(full), _seconds(empty)) for _ in range(ROUNDS)]
    rate = EXAMPLES / median(mine for mine, _ in pairs)
    return rate, median(mine / theirs for mine, theirs in pairs)


def _body() -> Callable[[Case], None]:
    implementation = resolve("reference")

    def body(case: Case) -> None:
        judge(implementation, case, CPU)

    return body


def _examples(scenario: Scenario, body: Callable[[Case], None]) -> Callable[[], None]:
    assert scenario.strategy is not None

    def example(case: Case) -> None:
        body(case)

    options = settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    run: Callable[[], None] = seed(1)(options(given(scenario.strategy)(example)))
    return run


def _seconds(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def _commands() -> None:
    for budget, arguments in (
        (0.3, ["--help"]),
        (0.3, ["spec"]),
        (0.3, ["list"]),
        (0.3, ["explain", "COPY-SHAPE"]),
        (40.0, ["check", "-n", "2"]),
    ):
        command = [sys.executable, "-m", "logitsbuf", *arguments]
        taken = min(_seconds(partial(_run, command)) for _ in range(1 if budget > 1 else 3))
        print(f"logitsbuf {' '.join(arguments)}: {taken:.2f} s (budget: {budget} s)")


def _run(command: list[str]) -> None:
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)


if __name__ == "__main__":
    sys.exit(main())
