"""Counterexamples are reduced, confirmed where nothing was called yet, and blamed on the guilty."""

from __future__ import annotations

import itertools
import os
import random

import pytest
import torch
from verbs import CPU, call, case, confirmed, guilty, implementation, quick

from logitsbuf import copy_logits_to_buffer as right
from logitsbuf.case import Layout, Matrix, Special
from logitsbuf.confirm import Settler
from logitsbuf.pristine import Crashed, First, Pristine
from logitsbuf.reduce import reduce


def smallest(copy, scenario: str, invariant: str) -> str:
    found = [f for f in confirmed(quick(copy, scenario)) if f.invariant == invariant]
    return str(found[0].case).removeprefix(f"{scenario}: ")


@pytest.mark.parametrize(
    ("scenario", "invariant", "wrong", "minimal"),
    [
        (
            "one_row_logits",
            "COPY-SHAPE",
            lambda x, b, v: b.copy_(x[:, : b.shape[1]]),
            "logits float32[1, 1], buffer float32[2, 1], vocab_size 1",
        ),
        (
            "wider_buffer",
            "COPY-TOTAL",
            lambda x, b, v: b.copy_(x),
            "logits float32[1, 2], buffer float32[1, 3], vocab_size 2",
        ),
        (
            "no_buffer",
            "COPY-VALUES",
            lambda x, b, v: torch.where(x[:, :v].float().isnan(), 0.0, x[:, :v].float()),
            "logits float32[1, 1], no buffer, vocab_size 1, nan at first",
        ),
        (
            "no_buffer",
            "COPY-VALUES",
            lambda x, b, v: (
                x[:, :v].bfloat16().float() if x.dtype == torch.float16 else x[:, :v].float()
            ),
            "logits float16[1, 1], no buffer, vocab_size 1, seed 1",
        ),
        (
            "no_buffer",
            "COPY-SHAPE",
            lambda x, b, v: x.float(),
            "logits float32[1, 2], no buffer, vocab_size 1",
        ),
        (
            "more_rows",
            "COPY-SHAPE",
            lambda x, b, v: right(x, b, v)[1:] if len(x) > 256 else right(x, b, v),
            "logits float32[257, 1], buffer float32[258, 1], vocab_size 1",
        ),
    ],
)
def test_a_counterexample_is_minimal_in_its_scenario(scenario, invariant, wrong, minimal) -> None:
    assert smallest(wrong, scenario, invariant) == minimal


def test_a_threshold_is_found_exactly() -> None:
    big = case(call(1, 262144), scenario="no_buffer")
    small = reduce(big, lambda c: c.calls[0].logits.columns > 65536, lambda c: True)
    assert small.calls[0].logits.columns == 65537


def test_a_layout_stays_only_if_it_is_needed() -> None:
    padded = Matrix(5, 7, "float16", Layout(pad=8, offset=3))
    start = case(
        call(5, 7, buffer=padded, specials=(Special("last", "nan"),), seed=9, poison="nan")
    )
    small = reduce(start, lambda c: c.calls[0].buffer.layout.pad > 0, lambda c: True)
    assert small.calls[0].buffer == Matrix(1, 1, "bfloat16", Layout(pad=1))
    assert (small.calls[0].specials, small.calls[0].seed, small.calls[0].poison) == (
        (),
        0,
        "finite",
    )


def counting(every: int):
    calls = itertools.count(1)

    def copy(x, b, v):
        result = right(x, b, v)
        return result if next(calls) % every else result + 1

    return copy


@pytest.mark.parametrize("every", [2, 7, 60])
def test_every_nth_call_is_refuted_by_n_calls(every) -> None:
    report = quick(counting(every), "no_buffer", "repeated_calls")
    pure = [f for f in report.findings if f.invariant == "COPY-PURE"]
    assert [len(f.case.calls) for f in pure] == [every]
    assert {f.status for f in report.findings if f.invariant == "COPY-VALUES"} == {
        "history-dependent"
    }
    with Pristine(implementation(counting(every)), CPU) as pristine:
        assert isinstance(pristine.replay((pure[0].case,), None), First)


def test_a_cache_by_shape_is_refuted_by_two_calls() -> None:
    cache: dict = {}

    def copy(x, b, v):
        fits = b is not None and b.shape == x[:, :v].shape
        return right(x, b, v) if fits else cache.setdefault((len(x), v), right(x, b, v))

    pure = [f for f in confirmed(quick(copy, "repeated_calls")) if f.invariant == "COPY-PURE"]
    assert [len(f.case.calls) for f in pure] == [2]


def test_a_kept_buffer_is_refuted_by_two_calls() -> None:
    kept: list = []

    def copy(x, b, v):
        if b is None or b.shape != x[:, :v].shape or b.dtype != torch.float32:
            return right(x, b, v)
        kept.append(b)
        return kept[0].copy_(x[:, :v]) if kept[0].shape == b.shape else right(x, b, v)

    report = quick(copy, "exact", "repeated_calls")
    pure = [f for f in confirmed(report) if f.invariant == "COPY-PURE"]
    assert [len(f.case.calls) for f in pure] == [2]
    assert "COPY-REUSE" not in guilty(report)


def test_what_cannot_be_reproduced_is_reported_as_such() -> None:
    chance = random.SystemRandom()

    def copy(x, b, v):
        return right(x, b, v) + (chance.random() < 0.02)

    finding = next(f for f in quick(copy, "no_buffer").findings if f.level == "MUST")
    assert finding.status in ("unstable", "confirmed", "history-dependent")
    assert finding.fails


def test_a_child_that_ends_is_an_answer() -> None:
    with Pristine(implementation(lambda *_: os._exit(0)), CPU) as pristine:
        answer = pristine.replay((case(call()),), None)
    assert answer == Crashed("the process ended with status 0")


def test_a_crash_is_reduced() -> None:
    def copy(x, b, v):
        if len(x) > 2:
            os.abort()
        return right(x, b, v)

    start = case(call(9, 8, buffer=Matrix(9, 8), seed=4), scenario="exact")
    with Pristine(implementation(copy), CPU) as pristine:
        (finding,) = Settler(pristine, [start]).settle_crash(start, "it ended")
    assert str(finding.case) == "exact: logits float32[3, 1], buffer float32[3, 1], vocab_size 1"


def test_replays_do_not_see_each_other() -> None:
    with Pristine(implementation(counting(2)), CPU) as pristine:
        assert [pristine.replay((case(call()),), None) for _ in range(4)] == [None] * 4
