"""The runner: sweep, search, and what it remembers."""

from __future__ import annotations

import pytest
from hypothesis.database import InMemoryExampleDatabase
from verbs import CPU, implementation

from logitsbuf import copy_logits_to_buffer as right
from logitsbuf.case import Case
from logitsbuf.errors import HarnessError
from logitsbuf.run import Options, Runner
from logitsbuf.scenarios import SCENARIOS, Scenario
from logitsbuf.verdict import Record


def run(copy, scenario: Scenario, **options) -> Record:
    with Runner(implementation(copy), CPU, Options(**options)) as runner:
        return runner.run(scenario)


def rarely_wrong(x, b, v):
    """Wrong for a width that no sweep has."""
    result = right(x, b, v)
    return result + 1 if x.shape[1] == 22 else result


def test_a_failing_example_is_tried_first_in_the_next_run() -> None:
    database = InMemoryExampleDatabase()
    keep = {"database": database}
    first = run(rarely_wrong, SCENARIOS["no_buffer"], max_examples=600, seed=1, **keep)
    again = run(rarely_wrong, SCENARIOS["no_buffer"], max_examples=1, seed=2, **keep)
    without = run(rarely_wrong, SCENARIOS["no_buffer"], max_examples=1, seed=2)
    found = [{f.invariant for f in r.findings} - {"COPY-FRESH"} for r in (first, again, without)]
    assert found == [{"COPY-VALUES"}, {"COPY-VALUES"}, set()]


def test_what_fails_no_more_is_forgotten() -> None:
    database = InMemoryExampleDatabase()
    run(rarely_wrong, SCENARIOS["no_buffer"], max_examples=600, seed=1, database=database)
    assert list(database.fetch(b"no_buffer"))
    run(right, SCENARIOS["no_buffer"], max_examples=1, database=database)
    assert list(database.fetch(b"no_buffer")) == []


def test_what_cannot_be_read_any_more_is_forgotten() -> None:
    database = InMemoryExampleDatabase()
    database.save(b"no_buffer", b'{"of": "another version"}')
    run(right, SCENARIOS["no_buffer"], max_examples=1, database=database)
    assert list(database.fetch(b"no_buffer")) == []


def test_the_search_goes_on_after_a_violation() -> None:
    def two_faults(x, b, v):
        result = right(x, b, v)
        if x.shape[1] == 37:
            return result.double()
        return result + 1 if len(x) == 17 else result

    record = run(two_faults, SCENARIOS["no_buffer"], max_examples=600, seed=1)
    assert {f.invariant for f in record.findings} >= {"COPY-FLOAT32", "COPY-VALUES"}
    assert record.examples >= 600


def test_a_scenario_that_never_calls_is_a_harness_error() -> None:
    empty = Scenario(name="empty", why="", sweep=tuple, strategy=None, holds=lambda _: True)
    with pytest.raises(HarnessError, match="empty never called the implementation"):
        run(right, empty)


def test_a_harness_error_inside_a_call_is_not_a_violation() -> None:
    def leaks(*_):
        raise HarnessError("a stand-in leaked")

    with pytest.raises(HarnessError, match="leaked"):
        run(leaks, SCENARIOS["exact"], max_examples=1)


def test_every_case_is_announced_before_its_call() -> None:
    announced: list[Case] = []

    def copy(x, b, v):
        assert announced[-1].calls[0].logits.shape == tuple(x.shape)
        return right(x, b, v)

    record = run(copy, SCENARIOS["exact"], max_examples=20, started=announced.append)
    assert len(announced) == record.examples
    assert not record.findings


def test_a_record_survives_its_journey_between_processes() -> None:
    record = run(lambda x, b, v: x.double(), SCENARIOS["no_buffer"], max_examples=5)
    assert record.findings
    assert Record.from_json(record.to_json()) == record
