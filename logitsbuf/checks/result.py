"""Checks of what comes back: that anything does, its dtype, shape, device and values.

Judging order: what is not a tensor violates COPY-TOTAL and nothing else, and values are compared
only where dtype, shape and device are right.
"""

from __future__ import annotations

from logitsbuf import torchrefs as t
from logitsbuf.checks.outcome import HELD, Fault, Outcome, held_unless
from logitsbuf.contract import Contract
from logitsbuf.observation import Observation, Output
from logitsbuf.oracle import float32_bits, is_nan


def total(o: Observation, contract: Contract) -> Outcome:
    """COPY-TOTAL."""
    if o.raised and o.raised.control:
        return Fault("a tensor, or an ordinary exception", f"raised {o.raised}")
    if o.output and not o.output.is_tensor:
        return Fault("a dense tensor", f"returned {o.output.type_name}")
    if o.expects == "refusal" or o.call.exotic_layout:
        return None
    return Fault("a tensor", f"raised {o.raised}") if o.raised else HELD


def layout(o: Observation, contract: Contract) -> Outcome:
    """COPY-LAYOUT: a clean refusal is allowed, and warns; the rest is for the other checks."""
    if not o.call.exotic_layout or o.expects == "refusal":
        return None
    if not o.raised or o.raised.control:
        return HELD
    touched = o.logits.changed or (o.buffer is not None and o.buffer.changed)
    if touched:
        return Fault("a refusal that writes nothing", f"wrote, then raised {o.raised}")
    return Fault("this layout is accepted", f"raised {o.raised}", level="SHOULD")


def _returned(o: Observation) -> Output | None:
    """The dense tensor of a call that was right to return one."""
    wanted = o.output is not None and o.output.is_tensor and o.expects != "refusal"
    return o.output if wanted else None


def float32(o: Observation, contract: Contract) -> Outcome:
    """COPY-FLOAT32."""
    if (output := _returned(o)) is None:
        return None
    return held_unless(output.dtype != "float32", "float32", f"{output.dtype}")


def shape(o: Observation, contract: Contract) -> Outcome:
    """COPY-SHAPE."""
    if (output := _returned(o)) is None:
        return None
    wrong = output.shape != o.narrowed
    return held_unless(wrong, f"shape {list(o.narrowed)}", f"shape {_listed(output.shape)}")


def device(o: Observation, contract: Contract) -> Outcome:
    """COPY-DEVICE."""
    if (output := _returned(o)) is None:
        return None
    return held_unless(output.device != o.device, o.device, f"{output.device}")


def values(o: Observation, contract: Contract) -> Outcome:
    """COPY-VALUES: against the oracle, from the logits' bytes as they were before the call."""
    output = _returned(o)
    if output is not None and output.unreadable:
        return Fault("elements that can be read", output.unreadable)
    if output is None or output.bits is None or output.shape != o.narrowed:
        return None
    if 0 in o.narrowed:
        return HELD
    expected = expected_bits(o)
    if t.equal(output.bits, expected):
        return HELD
    differs = (output.bits != expected) & ~(is_nan(output.bits) & is_nan(expected))
    wrong = differs.nonzero()
    return _first_wrong(o, output.bits, expected, wrong) if len(wrong) else HELD


def expected_bits(o: Observation) -> t.Tensor:
    """int32 bits of the right result, contiguous on the CPU."""
    columns = o.narrowed[1]
    before = o.logits.bits(o.logits.before)[:, :columns]
    return t.contiguous(float32_bits(before, o.call.logits.dtype))


def _first_wrong(o: Observation, got: t.Tensor, expected: t.Tensor, wrong: t.Tensor) -> Fault:
    row, column = wrong[0].tolist()
    where = f"[{row}, {column}]"
    count = f" ({len(wrong)} of {got.numel()} cells differ)" if len(wrong) > 1 else ""
    return Fault(
        f"{_number(expected[row, column])} at {where}",
        f"{_number(got[row, column])}{_origin(o, got[row, column], expected)}{count}",
    )


def _origin(o: Observation, got: t.Tensor, expected: t.Tensor) -> str:
    """Where else the value that was found belongs, which often names the fault."""
    cells = (expected == got).nonzero()
    if len(cells) == 1:
        return f", which belongs at {cells[0].tolist()}"
    before = o.buffer.before[:4] if o.buffer else b""  # poison, as every byte of the storage
    stale = before == (int(got.item()) & 0xFFFFFFFF).to_bytes(4, "little") and o.call.matches
    return ", what the buffer held before" if stale else ""


def _number(bits: t.Tensor) -> str:
    value = t.view(bits.reshape(1), t.torch_dtype("float32")).item()
    return f"{value!r} (0x{int(bits.item()) & 0xFFFFFFFF:08x})"


def _listed(shape: tuple[int, ...] | None) -> str:
    return str(list(shape or ()))
