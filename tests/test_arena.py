"""Tensors lie in their storages as their case says, and hold what it says."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from verbs import CPU, call, case

from logitsbuf.arena import POISON_BYTES, allocate, build
from logitsbuf.case import PATTERNS_SEED, PLACES, Call, Layout, Matrix, Special
from logitsbuf.formats import FORMATS, LOGITS_DTYPES
from logitsbuf.observation import elements
from logitsbuf.oracle import widening_table
from logitsbuf.strategies import relation


@pytest.mark.parametrize("kind", ["rows", "columns", "step", "repeat", "overlap"])
def test_a_tensor_has_the_strides_of_its_layout(kind) -> None:
    matrix = Matrix(3, 4, "bfloat16", Layout(kind, pad=2 if kind == "rows" else 0, offset=5))
    block = allocate(matrix, CPU)
    assert block.tensor.stride() == matrix.strides
    assert block.tensor.storage_offset() == block.front // 2
    assert len(block.raw()) >= block.front + 2 * matrix.span + 64


def test_a_tight_storage_holds_the_tensor_and_nothing_else() -> None:
    assert len(allocate(Matrix(3, 4, layout=Layout(tight=True)), CPU).raw()) == 48


@settings(max_examples=100)
@given(relation("exact"))
def test_only_the_elements_of_logits_differ_from_poison(drawn) -> None:
    block = build(drawn, 0, {}, CPU).logits
    raw = bytearray(block.raw())
    poison = POISON_BYTES[drawn.calls[0].poison]
    cells = elements(raw, block.matrix, block.front)
    if not block.matrix.layout.overlapping:
        cells.view(torch.uint8).fill_(poison)
        assert set(raw) == {poison}


@pytest.mark.parametrize("dtype", LOGITS_DTYPES)
def test_ordinary_cells_differ_as_far_as_the_dtype_allows(dtype) -> None:
    logits = build(case(call(12, 16, dtype=dtype, seed=3)), 0, {}, CPU).logits.tensor
    bits = logits.to(torch.float64).flatten()
    assert len(bits.unique()) == bits.numel()
    assert bits.isfinite().all()


@pytest.mark.parametrize("dtype", [d for d in LOGITS_DTYPES if FORMATS[d].bits <= 16])
def test_the_pattern_fill_has_every_pattern(dtype) -> None:
    bits = FORMATS[dtype].bits
    logits = build(case(call(1, 1 << bits, dtype=dtype, seed=PATTERNS_SEED)), 0, {}, CPU).logits
    seen = logits.tensor.view(torch.uint8 if bits == 8 else torch.int16).unique()
    assert len(seen) == 1 << bits


@pytest.mark.parametrize("place", [*PLACES, "1,2"])
@pytest.mark.parametrize("value", ["nan", "-inf", "-0.0"])
def test_a_special_is_planted_at_its_place(place, value) -> None:
    special = (Special(place, value),)
    logits = build(case(call(3, 4, dtype="float32", specials=special)), 0, {}, CPU).logits.tensor
    found = {(r, c) for r in range(3) for c in range(4) if repr(logits[r, c].item()) == value}
    expected = {
        "first": {(0, 0)},
        "last": {(2, 3)},
        "middle": {(1, 2)},
        "1,2": {(1, 2)},
        "last_column": {(r, 3) for r in range(3)},
        "last_row": {(2, c) for c in range(4)},
        "all": {(r, c) for r in range(3) for c in range(4)},
    }
    assert found == expected[place]


@pytest.mark.parametrize("poison", list(POISON_BYTES))
def test_no_ordinary_value_looks_like_poison(poison) -> None:
    pattern = int.from_bytes(bytes([POISON_BYTES[poison]]) * 4, "little", signed=True)
    for dtype in LOGITS_DTYPES:
        logits = build(case(call(40, 50, dtype=dtype, seed=1)), 0, {}, CPU).logits.tensor
        assert not (logits.float().view(torch.int32) == pattern).any()


@pytest.mark.parametrize("sharing", ["same_object", "same_bytes", "dlpack"])
def test_shared_logits_lie_in_the_buffer(sharing) -> None:
    matrix = Matrix(2, 3, layout=Layout(pad=1))
    arguments = build(case(Call(matrix, 3, matrix, sharing=sharing)), 0, {}, CPU)
    logits, buffer = arguments.logits.tensor, arguments.buffer.tensor
    assert logits.data_ptr() == buffer.data_ptr()
    assert (logits is buffer) == (sharing == "same_object")
    assert torch.equal(logits, torch.tensor([[1.0, 2, 3], [4, 5, 6]]))


def test_a_reused_storage_keeps_its_address_and_its_tensor() -> None:
    first = call(4, 3, buffer=Matrix(4, 3))
    same = call(4, 3, buffer=Matrix(4, 3), logits_of=0, buffer_of=0, seed=1)
    fewer = call(2, 3, buffer=Matrix(2, 3), buffer_of=0)
    sequence = case(first, same, fewer)
    made = {}
    for index in range(3):
        made[index] = build(sequence, index, made, CPU)
    assert made[1].logits.tensor is made[0].logits.tensor
    assert made[2].buffer.tensor.data_ptr() == made[0].buffer.tensor.data_ptr()
    assert made[2].buffer.tensor.shape == (2, 3)


def test_inference_tensors_are_made_inside_the_mode() -> None:
    arguments = build(case(call(buffer=Matrix(2, 3), mode="inference_tensors")), 0, {}, CPU)
    assert arguments.logits.tensor.is_inference()
    assert arguments.buffer.tensor.is_inference()


@given(st.sampled_from(["float16", "float8_e5m2"]))
def test_a_table_is_made_once(dtype) -> None:
    assert widening_table(dtype) is widening_table(dtype)
