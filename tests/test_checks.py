"""Each check speaks where it should, and keeps silent where it does not apply."""

from __future__ import annotations

import random
import warnings

import pytest
import torch
from hypothesis.errors import UnsatisfiedAssumption
from verbs import CPU, call, case, implementation, violated

from logitsbuf import copy_logits_to_buffer as right
from logitsbuf.case import Layout, Matrix, Special
from logitsbuf.contract import Contract
from logitsbuf.implementation import Implementation
from logitsbuf.judge import judge

EXACT = call(buffer=Matrix(2, 3))
MISFIT = call(buffer=Matrix(4, 3))
REFUSAL = call(buffer=Matrix(2, 3, "float16"))
STRIDED = call(buffer=Matrix(2, 3, layout=Layout(pad=2)))


@pytest.mark.parametrize("each", [EXACT, MISFIT, REFUSAL, STRIDED, call(), call(0, 3)])
def test_the_reference_violates_nothing(each) -> None:
    assert violated(right, each) == set()


@pytest.mark.parametrize("result", [None, [1.0], 3, "tensor", torch.ones(2, 3).to_sparse()])
def test_what_is_no_tensor_violates_totality_and_nothing_else(result) -> None:
    assert violated(lambda *_: result, EXACT) == {"COPY-TOTAL"}


@pytest.mark.parametrize(
    "control",
    [
        pytest.skip.Exception,
        pytest.fail.Exception,
        UnsatisfiedAssumption,
        SystemExit,
        KeyboardInterrupt,
        GeneratorExit,
    ],
)
@pytest.mark.parametrize("each", [EXACT, REFUSAL])
def test_exceptions_for_test_runners_violate_totality(control, each) -> None:
    def copy(*_):
        raise control("no")

    assert violated(copy, each) == {"COPY-TOTAL"}


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.int32])
def test_another_dtype_is_seen(dtype) -> None:
    assert violated(lambda x, *_: x.to(dtype, copy=True), call()) == {"COPY-FLOAT32"}


@pytest.mark.parametrize(
    "change",
    [
        lambda y: y[:1],
        lambda y: y[:, :2],
        lambda y: y.t(),
        lambda y: y[None],
        lambda y: y.flatten(),
    ],
)
def test_another_shape_is_seen_and_values_keep_silent(change) -> None:
    assert violated(lambda x, *_: change(x.float()), call()) == {"COPY-SHAPE"}


@pytest.mark.parametrize("value", ["nan", "-inf", "-0.0", "subnormal"])
def test_a_lost_special_is_seen(value) -> None:
    planted = call(dtype="float32", specials=(Special("1,1", value),))
    assert violated(lambda x, *_: x * 0 + 1, planted) == {"COPY-VALUES"}


def test_a_nan_of_another_payload_and_sign_is_the_same_nan() -> None:
    def copy(x, *_):
        y = x.float()
        return torch.where(y.isnan(), torch.tensor(-float("nan")), y)

    assert (
        violated(copy, call(specials=(Special("first", "nan"), Special("last", "-nan")))) == set()
    )


def test_a_wrong_value_is_explained_by_where_it_belongs() -> None:
    wrong = judge(implementation(lambda x, *_: x.float().flip(1)), case(call()), CPU).found[0]
    assert wrong.expected == "1.0 (0x3f800000) at [0, 0]"
    assert "3.0 (0x40400000), which belongs at [0, 2]" in wrong.observed


def test_a_stale_cell_is_explained() -> None:
    wrong = judge(implementation(lambda x, b, v: b), case(EXACT), CPU).found[0]
    assert "what the buffer held before" in wrong.observed


def test_a_result_over_dlpack_is_the_buffer() -> None:
    def copy(x, b, v):
        return torch.from_dlpack(b.copy_(x))

    assert violated(copy, EXACT) == set()
    assert violated(copy, STRIDED) == set()


def test_interleaved_memory_is_not_shared() -> None:
    def copy(x, b, v):
        if b is None or b.shape == x.shape:
            return right(x, b, v)
        # Every other element of the storage, where the buffer has its padding.
        gap = b.as_strided(x.shape, (b.stride(0), 1), b.storage_offset() + b.shape[1])
        return gap.copy_(x)

    interleaved = call(2, 2, buffer=Matrix(4, 3, layout=Layout(pad=2)))
    assert violated(copy, interleaved) == {"COPY-UNTOUCHED"}


def test_a_raise_that_wrote_is_seen() -> None:
    def copy(x, b, v):
        b.zero_()
        raise ValueError

    assert violated(copy, MISFIT) == {"COPY-TOTAL", "COPY-UNTOUCHED"}
    assert violated(copy, REFUSAL) == {"COPY-DTYPE-GUARD", "COPY-UNTOUCHED"}


def test_a_refused_layout_warns_and_a_refusal_that_wrote_fails() -> None:
    columns = call(buffer=Matrix(2, 3, layout=Layout("columns")))

    def refuses(x, b, v):
        if b.stride(1) != 1:
            raise ValueError
        return right(x, b, v)

    def writes(x, b, v):
        b.zero_()
        return refuses(x, b, v)

    levels = [
        judge(implementation(f), case(columns), CPU).found[0].level for f in (refuses, writes)
    ]
    assert levels == ["SHOULD", "MUST"]


def test_an_implementation_that_always_raises_is_not_blamed_for_a_layout() -> None:
    def copy(*_):
        raise ValueError

    columns = call(buffer=Matrix(2, 3, layout=Layout("columns")))
    assert violated(copy, columns) == set()  # without the layout it fails too: COPY-TOTAL's


def test_what_fails_in_a_mode_alone_belongs_to_the_mode() -> None:
    def copy(x, b, v):
        return right(x, b, v) if torch.is_grad_enabled() else x.float() + 1

    assert violated(copy, call(mode="no_grad")) == {"COPY-MODES"}
    assert violated(lambda x, b, v: x.float() + 1, call(mode="no_grad")) == {"COPY-VALUES"}


def test_freshness_informs_unless_it_is_promised() -> None:
    shared, promise = case(call(dtype="float32")), Contract(fresh=True)
    kept = Implementation(spec=None, qualified_name="x", copy=right, contract=promise)
    assert [f.level for f in judge(implementation(right), shared, CPU).found] == ["MAY"]
    assert [f.level for f in judge(kept, shared, CPU).found] == ["MUST"]


@pytest.mark.parametrize("patched", ["copy_", "equal", "clone", "all", "isnan", "view"])
def test_an_implementation_that_patches_torch_does_not_blind_the_judge(
    monkeypatch, patched
) -> None:
    def copy(x, b, v):
        monkeypatch.setattr(torch.Tensor, patched, lambda self, *_, **__: self)
        return torch.zeros(x.shape)

    try:
        seen = violated(copy, call())
    finally:
        monkeypatch.undo()
    assert "COPY-VALUES" in seen


def test_an_earlier_result_that_changes_is_impure() -> None:
    scratch = torch.empty(2, 3)

    def copy(x, b, v):
        return scratch.copy_(x)

    assert "COPY-PURE" in violated(copy, call(), call(seed=1))


def test_the_buffer_of_another_call_must_not_change() -> None:
    buffers = []

    def copy(x, b, v):
        buffers.append(b)
        buffers[0].copy_(x)
        return b.copy_(x)

    assert "COPY-PURE" in violated(copy, EXACT, call(buffer=Matrix(2, 3), seed=1))


class Evil(torch.Tensor):
    """A result that answers for itself whenever it is compared."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if "equal" in getattr(func, "__name__", ""):
            return True
        return super().__torch_function__(func, types, args, kwargs or {})


class Liar:
    """No tensor, whatever it says."""

    @property
    def __class__(self):
        return torch.Tensor


def test_a_result_has_no_say_in_how_it_is_judged() -> None:
    assert violated(lambda x, *_: torch.zeros(x.shape).as_subclass(Evil), call()) == {"COPY-VALUES"}
    assert violated(lambda *_: Liar(), call()) == {"COPY-TOTAL"}


def test_a_result_that_cannot_be_read_has_no_values() -> None:
    assert "COPY-VALUES" in violated(lambda x, *_: torch._efficientzerotensor(x.shape), call())


@pytest.mark.parametrize(
    "disfigure", [lambda x: x.requires_grad_(), lambda x: x.t_(), lambda x: x.resize_(1, 1)]
)
def test_the_tensors_themselves_must_stay_what_they_are(disfigure) -> None:
    def copy(x, b, v):
        result = right(x, b, v).clone()
        disfigure(x)
        return result

    assert violated(copy, call(), call(logits_of=0, seed=1)) == {"COPY-INPUT"}


def test_a_cache_by_address_is_seen_when_the_tensor_has_new_content() -> None:
    cache: dict = {}

    def copy(x, b, v):
        return cache.setdefault(x.data_ptr(), x.float().clone())

    assert "COPY-VALUES" in violated(copy, call(), call(seed=1, logits_of=0))
    assert "COPY-VALUES" not in violated(copy, call())


def test_a_scratch_from_inference_mode_fails_outside() -> None:
    scratch: dict = {}

    def copy(x, b, v):
        if x.shape not in scratch:
            scratch[x.shape] = torch.empty(x.shape)
        return scratch[x.shape].copy_(x).clone()

    inside = call(7, 11, mode="inference_mode")
    assert "COPY-TOTAL" in violated(copy, inside, call(7, 11, seed=1))


def test_a_matching_buffer_without_rows_is_guarded_too() -> None:
    empty = call(0, 3, buffer=Matrix(0, 3, "bfloat16"))
    assert violated(lambda x, b, v: b, empty) == {"COPY-DTYPE-GUARD"}


@pytest.mark.parametrize(
    ("change", "mode"),
    [
        (lambda: torch.set_grad_enabled(False), "plain"),
        (lambda: torch.set_default_dtype(torch.float64), "plain"),
        (lambda: torch.rand(1), "plain"),
        (lambda: torch.use_deterministic_algorithms(True), "plain"),
        (lambda: warnings.warn("look", stacklevel=1), "plain"),
        (lambda: torch.set_default_device("meta"), "no_grad"),
        (random.random, "no_grad"),
    ],
)
def test_changed_global_state_is_seen_and_put_back(change, mode) -> None:
    def copy(x, b, v):
        result = right(x, b, v)
        change()
        return result

    assert violated(copy, call(mode=mode)) == {"COPY-MODES"}
    assert torch.is_grad_enabled()
    assert torch.get_default_dtype() == torch.float32
    assert torch.empty(0).device.type == "cpu"
    assert not torch.are_deterministic_algorithms_enabled()


def test_results_without_memory_do_not_disturb_what_follows() -> None:
    def copy(x, *_):
        return torch._efficientzerotensor(x.shape)

    assert "COPY-VALUES" in violated(copy, call(), call(seed=1), call(seed=2))
    assert "COPY-VALUES" in violated(
        lambda x, *_: torch.zeros(x.shape).as_subclass(Evil), call(), call(seed=1)
    )
