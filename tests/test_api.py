"""``logitsbuf.check`` inside an adopter's own test."""

from __future__ import annotations

import random
import warnings

import pytest
import torch
from verbs import confirmed, quick

import logitsbuf
from logitsbuf import Contract, ViolationError, check, copy_logits_to_buffer
from logitsbuf.errors import UsageError


def test_a_lambda_conforms() -> None:
    def adapter(metadata, x):
        return copy_logits_to_buffer(x, *metadata)

    check(lambda x, b, v: adapter((b, v), x), max_examples=10).raise_for_violations()


def test_an_object_brings_its_contract() -> None:
    class Fresh:
        contract = Contract(fresh=True)

        def copy_logits_to_buffer(self, x, b, v):
            return copy_logits_to_buffer(x, b, v)

    report = quick(Fresh(), "no_buffer")
    assert [f.invariant for f in confirmed(report)] == ["COPY-FRESH"]
    assert [r.level for r in report.rows if r.invariant == "COPY-FRESH"] == ["MUST"]


def test_violations_are_raised_with_everything_a_report_needs() -> None:
    report = quick(lambda x, b, v: x[:, :v].double(), "no_buffer")
    with pytest.raises(ViolationError) as caught:
        report.raise_for_violations()
    for part in ("COPY-FLOAT32 (MUST)", "expected: float32", "observed: float64", "float32[1, 1]"):
        assert part in str(caught.value)


def test_a_function_without_a_name_replays_from_python() -> None:
    report = quick(lambda x, b, v: x[:, :v].double(), "no_buffer")
    with pytest.raises(ViolationError, match=r"replay:   logitsbuf.replay\(fn, '\{"):
        report.raise_for_violations()


def test_replaying_from_python_gives_the_faults() -> None:
    text = '{"scenario":"no_buffer","calls":[{"logits":{"rows":1,"columns":1},"vocab_size":1}]}'
    assert [f.invariant for f in logitsbuf.replay(lambda x, b, v: x.double(), text)] == [
        "COPY-FLOAT32"
    ]
    assert logitsbuf.replay(lambda x, b, v: x.clone(), text) == ()


def test_no_global_state_changes() -> None:
    torch.manual_seed(7)
    random.seed(7)

    def state():
        return (
            torch.get_num_threads(),
            torch.is_warn_always_enabled(),
            torch.get_default_dtype(),
            torch.is_grad_enabled(),
            torch.get_rng_state().tolist(),
            random.getstate(),
            list(warnings.filters),
        )

    before = state()
    quick(copy_logits_to_buffer, "exact", "modes")
    assert state() == before


def test_levels_decide_what_conforms() -> None:
    def views(x, b, v):
        return copy_logits_to_buffer(x[:, : min(v, x.shape[1])], b, v)

    assert quick(views, "cost").conforms
    assert not quick(views, "cost", strict=True).conforms


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"only": ("COPY-NOPE",)}, "unknown invariants"),
        ({"scenarios": ("nope",)}, "unknown scenarios"),
        ({"device": "tpu"}, "expected cpu, cuda or cuda:N"),
    ],
)
def test_bad_arguments_are_named(arguments, message) -> None:
    with pytest.raises(UsageError, match=message):
        check(copy_logits_to_buffer, **arguments)


def test_what_is_no_function_is_refused() -> None:
    with pytest.raises(UsageError, match="is 3; expected a function or an object"):
        check(3)


def test_the_same_seed_draws_the_same() -> None:
    seen: list[list[str]] = [[], []]
    for shapes in seen:

        def copy(x, b, v, shapes=shapes):
            shapes.append((tuple(x.shape), str(x.dtype)))
            return copy_logits_to_buffer(x, b, v)

        quick(copy, "any_shapes", max_examples=30, seed=11)
    assert seen[0] == seen[1]


@pytest.mark.cuda
@pytest.mark.skipif(not torch.cuda.is_available(), reason="torch sees no CUDA device here")
def test_the_reference_conforms_on_cuda() -> None:
    check(copy_logits_to_buffer, device="cuda", max_examples=20).raise_for_violations()
