"""Checks of what a call leaves behind: other tensors, global state, references, costs."""

from __future__ import annotations

from logitsbuf.checks.outcome import HELD, Fault, Outcome, held_unless
from logitsbuf.contract import Contract
from logitsbuf.observation import Costs, Observation


def pure(o: Observation, contract: Contract) -> Outcome:
    """COPY-PURE, as far as one call shows it: it changes no tensor of another call."""
    if o.elsewhere is None:
        return None
    changed = ", ".join(o.elsewhere)
    return held_unless(bool(changed), "tensors of earlier calls stay", f"changed {changed}")


def modes(o: Observation, contract: Contract) -> Outcome:
    """COPY-MODES, as far as one call shows it: global state as before, no warning."""
    if o.state:
        return Fault("global state as before the call", f"changed {', '.join(o.state)}")
    return Fault("no warning", o.warnings[0]) if o.warnings else HELD


def release(o: Observation, contract: Contract) -> Outcome:
    """COPY-RELEASE."""
    if o.kept is None:
        return None
    kept = " and ".join(o.kept)
    return held_unless(bool(kept), "arguments and results can be freed", f"kept the {kept} alive")


def no_alloc(o: Observation, contract: Contract) -> Outcome:
    """COST-NO-ALLOC."""
    if (costs := _match_costs(o)) is None:
        return None
    allocations = ", ".join(costs.allocations)
    return held_unless(bool(allocations), "no allocation", f"allocated by {allocations}")


def one_write(o: Observation, contract: Contract) -> Outcome:
    """COST-ONE-WRITE."""
    if (costs := _match_costs(o)) is None:
        return None
    if len(costs.writes) > 1:
        return Fault("at most one write", f"{len(costs.writes)}: {', '.join(costs.writes)}")
    wider = o.call.logits.columns > o.call.vocab_size
    views = ", ".join(costs.views)
    return held_unless(bool(views) and not wider, "no view", f"views made by {views}")


def no_sync(o: Observation, contract: Contract) -> Outcome:
    """COST-NO-SYNC."""
    if o.costs is None:
        return None
    reads = ", ".join(o.costs.host_reads)
    return held_unless(bool(reads), "no read of tensor data on the host", f"read by {reads}")


def _match_costs(o: Observation) -> Costs | None:
    seen = o.expects == "buffer" and o.costs is not None and o.costs.seen
    return o.costs if seen else None
