"""The lines of a script that state an invariant: what to note before the call, what to assert."""

from __future__ import annotations

from collections.abc import Iterator

from logitsbuf.case import Call
from logitsbuf.verdict import Finding

_RECORDER = """
from torch.{module} import {mode}


class Record({mode}):
    def __init__(self):
        super().__init__()
        self.names = []

    def {hook}(self, func, types, args=(), kwargs=None):
        self.names.append({name})
        return func(*args, **(kwargs or {{}}))
"""
_OPERATORS = _RECORDER.format(
    module="utils._python_dispatch",
    mode="TorchDispatchMode",
    hook="__torch_dispatch__",
    name="func.overloadpacket.__name__",
)
_FUNCTIONS = _RECORDER.format(
    module="overrides",
    mode="TorchFunctionMode",
    hook="__torch_function__",
    name='getattr(func, "__name__", "")',
)

MAY_RAISE = frozenset({"COPY-DTYPE-GUARD", "COPY-UNTOUCHED", "COPY-INPUT", "COPY-IN-BOUNDS"})
"""Invariants that a call can violate and then raise."""

_STATE = "(torch.is_grad_enabled(), torch.get_default_dtype(), torch.get_rng_state().tolist())"


def needed_imports(cause: str) -> list[str]:
    """Imports beyond torch, and what stands in for them."""
    if cause.startswith("COST-"):
        recorder = _FUNCTIONS if cause == "COST-NO-SYNC" else _OPERATORS
        return [*recorder.strip("\n").split("\n"), ""]
    if cause == "COPY-RELEASE":
        return ["import gc", "from torch.multiprocessing.reductions import StorageWeakRef"]
    return ["import warnings"] if cause == "COPY-MODES" else []


def before(finding: Finding, call: Call) -> Iterator[str]:
    """What to note before the faulty call."""
    if finding.cause in ("COPY-SHAPE", "COPY-VALUES"):
        yield f"want = logits[:, :{call.vocab_size}].to(torch.float32).clone()"
    if finding.cause == "COPY-INPUT":
        yield "old_logits = logits_storage.view(torch.uint8).clone()"
    if finding.cause in ("COPY-UNTOUCHED", "COPY-IN-BOUNDS", "COPY-DTYPE-GUARD"):
        yield "old_buffer = buffer_storage.view(torch.uint8).clone()"
    if finding.cause == "COPY-MODES":
        yield 'warnings.simplefilter("error")'
        yield f"state = {_STATE}"


def after(finding: Finding, call: Call) -> Iterator[str]:
    """The assertion."""
    yield from _ASSERTIONS[finding.cause](call)


def _total(call: Call) -> Iterator[str]:
    yield "assert isinstance(out, torch.Tensor) and out.layout == torch.strided, type(out)"


def _float32(call: Call) -> Iterator[str]:
    yield "assert out.dtype == torch.float32, out.dtype"


def _shape(call: Call) -> Iterator[str]:
    yield "assert out.shape == want.shape, (out.shape, want.shape)"


def _device(call: Call) -> Iterator[str]:
    yield "assert out.device == logits.device, out.device"


def _values(call: Call) -> Iterator[str]:
    yield "same = (out.view(torch.int32) == want.view(torch.int32)) | (out.isnan() & want.isnan())"
    yield "assert same.all(), (out.tolist(), want.tolist())"


def _reuse(call: Call) -> Iterator[str]:
    yield "assert out.shape == buffer.shape and out.data_ptr() == buffer.data_ptr()"
    longer = [i for i, size in enumerate(call.narrowed) if size > 1]
    for dimension in longer:
        yield f"assert out.stride({dimension}) == buffer.stride({dimension})"


def _outside(name: str) -> list[str]:
    """Write through the result and see that an argument does not change."""
    return [
        f"kept = {name}.view(torch.uint8).clone()",
        "out.fill_(-3.0)",
        f'assert torch.equal({name}.view(torch.uint8), kept), "the result lies in {name}"',
    ]


def _no_alias(call: Call) -> Iterator[str]:
    yield from _outside("buffer_storage")


def _fresh(call: Call) -> Iterator[str]:
    yield from _outside("logits_storage")


def _untouched(call: Call) -> Iterator[str]:
    yield 'assert torch.equal(buffer_storage.view(torch.uint8), old_buffer), "the buffer changed"'


def _in_bounds(call: Call) -> Iterator[str]:
    matrix = call.buffer
    assert matrix is not None
    yield "inside = torch.zeros(len(buffer_storage), dtype=torch.bool, device=device)"
    yield f"inside.as_strided(buffer.shape, {matrix.strides}, buffer.storage_offset()).fill_(True)"
    yield "changed = (buffer_storage.view(torch.uint8) != old_buffer).view(-1, 4).any(1)"
    yield 'assert not (changed & ~inside).any(), "a write outside the buffer"'


def _input(call: Call) -> Iterator[str]:
    yield 'assert torch.equal(logits_storage.view(torch.uint8), old_logits), "the logits changed"'


def _modes(call: Call) -> Iterator[str]:
    yield f"assert state == {_STATE}, 'global state changed'"


def _pure(call: Call) -> Iterator[str]:
    yield "for result, as_it_was in results:"
    yield '    assert torch.equal(result, as_it_was), "an earlier result changed"'


def _release(call: Call) -> Iterator[str]:
    yield "tensors = [x for x in (logits, buffer, out) if x is not None]"
    yield "watched = [StorageWeakRef(x.untyped_storage()) for x in tensors]"
    yield "del tensors, logits, logits_storage, buffer, buffer_storage, out"
    yield "gc.collect()"
    yield 'assert all(ref.expired() for ref in watched), "something is kept alive"'


def _guard(call: Call) -> Iterator[str]:
    yield f'assert refused, "a {call.buffer.dtype if call.buffer else None} buffer was accepted"'
    yield from _untouched(call)


def _match_cost(call: Call) -> Iterator[str]:
    wider = call.logits.columns > call.vocab_size
    views = " if name != 'slice'" if wider else ""
    yield f"assert [name for name in record.names{views}] == ['copy_'], record.names"


def _no_sync(call: Call) -> Iterator[str]:
    reads = {"item", "tolist", "numpy", "cpu", "equal", "__bool__", "__float__", "__int__"}
    yield f"assert not {sorted(reads)} & set(record.names), record.names".replace("[", "{").replace(
        "]", "}"
    )


_ASSERTIONS = {
    "COPY-TOTAL": _total,
    "COPY-LAYOUT": _total,
    "COPY-FLOAT32": _float32,
    "COPY-SHAPE": _shape,
    "COPY-DEVICE": _device,
    "COPY-VALUES": _values,
    "COPY-REUSE": _reuse,
    "COPY-NO-ALIAS": _no_alias,
    "COPY-UNTOUCHED": _untouched,
    "COPY-IN-BOUNDS": _in_bounds,
    "COPY-INPUT": _input,
    "COPY-DTYPE-GUARD": _guard,
    "COPY-PURE": _pure,
    "COPY-MODES": _modes,
    "COPY-FRESH": _fresh,
    "COPY-RELEASE": _release,
    "COST-NO-ALLOC": _match_cost,
    "COST-ONE-WRITE": _match_cost,
    "COST-NO-SYNC": _no_sync,
}
