"""Cases are plain data: they survive JSON, read well, and are checked when they come from text."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.vendor.pretty import pretty
from verbs import call, case

from logitsbuf.case import Layout, Matrix, Special, without_calls
from logitsbuf.caseformat import check, from_json, to_json
from logitsbuf.errors import UsageError
from logitsbuf.scenarios import SCENARIOS

SEARCHED = [s for s in SCENARIOS.values() if s.strategy is not None]
PLAIN = '{"logits":{"rows":1,"columns":1},"vocab_size":1}'


@settings(max_examples=300)
@given(st.one_of([s.strategy for s in SEARCHED]))
def test_whatever_is_drawn_is_valid_and_survives_json(drawn) -> None:
    check(drawn)
    assert SCENARIOS[drawn.scenario].admits(drawn)
    assert from_json(to_json(drawn)) == drawn


@pytest.mark.parametrize("scenario", SCENARIOS.values(), ids=lambda s: s.name)
def test_whatever_is_swept_is_valid_and_survives_json(scenario) -> None:
    for swept in scenario.sweep():
        check(swept)
        assert scenario.admits(swept)
        assert from_json(to_json(swept)) == swept


def test_defaults_are_left_out() -> None:
    assert (
        to_json(case(call(1, 1, dtype="float32")))
        == f'{{"scenario":"any_shapes","calls":[{PLAIN}]}}'
    )


def test_equal_calls_are_written_once() -> None:
    repeated = case(*[call()] * 1000)
    assert '"times":1000' in to_json(repeated)
    assert from_json(to_json(repeated)) == repeated


def test_a_case_is_one_line_for_people_and_for_hypothesis() -> None:
    buffer = Matrix(2, 3, layout=Layout(pad=2, offset=1))
    shown = case(call(buffer=buffer, seed=3, specials=(Special("last", "nan"),), mode="no_grad"))
    line = (
        "any_shapes: logits bfloat16[2, 3], buffer float32[2, 3] (strides [5, 1], offset 1), "
        "vocab_size 3, nan at last, seed 3, under no_grad"
    )
    assert str(shown) == pretty(shown) == line


@pytest.mark.parametrize(
    ("calls", "message"),
    [
        ("[]", "has no calls"),
        ('[{"vocab_size":1}]', r"case.calls\[0\] lacks \['logits'\]"),
        ('[{"logits":{"rows":1,"columns":1},"vocab_size":"1"}]', "vocab_size is '1'; expected int"),
        ('[{"logits":{"rows":1,"columns":1},"vocab_size":true}]', "vocab_size is True; expected"),
        (
            '[{"logits":{"rows":-1,"columns":1},"vocab_size":1}]',
            r"shape \[-1, 1\]; expected rows >= 0",
        ),
        ('[{"logits":{"rows":1,"columns":1,"dtype":"int7"},"vocab_size":1}]', "dtype 'int7'"),
        (
            '[{"logits":{"rows":1,"columns":1,"dtype":"int32"},"vocab_size":1}]',
            "expected a floating",
        ),
        ('[{"logits":{"rows":1,"columns":1},"vocab_size":1,"color":3}]', r"has \['color'\]"),
        ('[{"logits":{"rows":1,"columns":1},"vocab_size":1,"mode":"odd"}]', "mode is 'odd'"),
        ('[{"logits":{"rows":1,"columns":1},"vocab_size":1,"logits_of":0}]', "an earlier call"),
        ('[{"logits":{"rows":1,"columns":1},"vocab_size":1,"times":0}]', "times is 0"),
        ('[{"logits":{"rows":1,"columns":1},"vocab_size":1,"sharing":"dlpack"}]', "sharing dlpack"),
        (
            '[{"logits":{"rows":1,"columns":1},"vocab_size":1,'
            '"specials":[{"place":"5,5","value":"nan"}]}]',
            "a cell of the logits",
        ),
        (
            '[{"logits":{"rows":1,"columns":1},"vocab_size":1,'
            '"buffer":{"rows":2,"columns":2,"layout":{"kind":"repeat"}}}]',
            "rows overlap",
        ),
    ],
)
def test_a_bad_case_is_refused_and_named(calls: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        from_json(f'{{"scenario":"any_shapes","calls":{calls}}}')


@pytest.mark.parametrize("text", ["", "{", "[]", "3", "null", '"x"', "{}"])
def test_what_is_no_case_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="case"):
        from_json(text)


def test_a_case_is_parsed_and_never_evaluated() -> None:
    with pytest.raises(UsageError):
        from_json(json.dumps({"scenario": "any_shapes", "calls": "__import__('os')"}))


def test_without_a_call_references_move_or_fall() -> None:
    one, two = Matrix(2, 3), call(buffer=Matrix(2, 3), buffer_of=0)
    three = case(call(buffer=one), two, call(buffer=one, buffer_of=1))
    assert [c.buffer_of for c in without_calls(three, 0, 1).calls] == [None, 0]
    assert [c.buffer_of for c in without_calls(three, 1, 2).calls] == [None, None]
    assert [c.buffer_of for c in without_calls(three, 0, 2).calls] == [None]
