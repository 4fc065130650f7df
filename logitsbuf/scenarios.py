"""The registry of scenarios: what a property runs.

A scenario is a sweep that always runs and, for most, a strategy that Hypothesis then searches. A
counterexample is reduced inside its scenario.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType

from hypothesis.strategies import SearchStrategy

from logitsbuf import situation_sweeps as sweeps
from logitsbuf import strategies
from logitsbuf.case import Call, Case
from logitsbuf.directed import DIRECTED, Directed
from logitsbuf.relations import RELATIONS, Relation
from logitsbuf.sweep import relation_cases


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """A situation, and the ways into it.

    sweep: the cases that always run. strategy: what is searched, None if the sweep is all there
    is. holds: whether a (reduced) call still stands in the scenario. afresh: the sweep is made in
    new processes as well, since what an implementation does may hang on its very first calls.
    """

    name: str
    why: str
    sweep: Callable[[], tuple[Case, ...]]
    strategy: SearchStrategy[Case] | None
    holds: Callable[[Call], bool]
    afresh: bool = False

    def admits(self, case: Case) -> bool:
        """Whether a case still stands in the scenario."""
        return all(self.holds(call) for call in case.calls)


def _of_relation(relation: Relation) -> Scenario:
    return Scenario(
        name=relation.name,
        why=relation.why,
        sweep=partial(relation_cases, relation.name),
        strategy=strategies.relation(relation.name),
        holds=relation.holds,
    )


def _of_report(directed: Directed) -> Scenario:
    return Scenario(
        name=directed.case.scenario,
        why=directed.why,
        sweep=lambda: (directed.case,),
        strategy=None,
        holds=_always,
    )


def _is_itself(call: Call) -> bool:
    return call.sharing != "separate" and not (call.logits.rows == 1 and call.logits.layout.pad)


def _always(_: Call) -> bool:
    return True


_REPEATED = Scenario(
    name="repeated_calls",
    why="State between calls: other buffers, reused tensors, a refusal in between.",
    sweep=sweeps.repeated_cases,
    strategy=strategies.repeated(),
    holds=_always,
    afresh=True,
)

_SITUATIONS = (
    Scenario(
        name="bit_patterns",
        why="Every bit pattern of each 8- and 16-bit dtype, a sample of wider ones, on both paths.",
        sweep=sweeps.pattern_cases,
        strategy=None,
        holds=_always,
    ),
    Scenario(
        name="specials",
        why="NaN, infinities, signed zeros, subnormals, ties: every special of each dtype.",
        sweep=sweeps.special_cases,
        strategy=None,
        holds=_always,
    ),
    Scenario(
        name="layouts",
        why="Heads that are stored transposed give column-major logits.",
        sweep=sweeps.layout_cases,
        strategy=strategies.layouts(),
        holds=lambda call: call.exotic_layout,
    ),
    Scenario(
        name="logits_are_buffer",
        why="A head may write straight into the shared buffer.",
        sweep=sweeps.self_cases,
        strategy=strategies.selves(),
        holds=_is_itself,
    ),
    Scenario(
        name="modes",
        why="Warm-up, capture and serving differ in grad mode, autocast and default dtype.",
        sweep=sweeps.mode_cases,
        strategy=strategies.modes(),
        holds=lambda call: call.mode != "plain",
    ),
    Scenario(
        name="cost",
        why="What the hot path allocates, writes, views and reads on the host.",
        sweep=sweeps.cost_cases,
        strategy=strategies.any_relation("cost"),
        holds=_always,
    ),
)

SCENARIOS: Mapping[str, Scenario] = MappingProxyType(
    {
        scenario.name: scenario
        for scenario in (
            # First: state that it finds with two calls need not be looked for in a long history.
            _REPEATED,
            *(_of_relation(relation) for relation in RELATIONS.values()),
            *_SITUATIONS,
            *(_of_report(directed) for directed in DIRECTED.values()),
        )
    }
)
