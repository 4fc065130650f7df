"""Checks of memory: what the result lies in, and which bytes changed.

Memory is compared as byte ranges, not as storages: tensors that came over DLPack have storages of
their own over the same bytes.
"""

from __future__ import annotations

from logitsbuf import torchrefs as t
from logitsbuf.checks.outcome import HELD, Fault, Outcome, held_unless
from logitsbuf.contract import Contract
from logitsbuf.formats import FORMATS
from logitsbuf.observation import Memory, Observation, Output, elements


def reuse(o: Observation, contract: Contract) -> Outcome:
    """COPY-REUSE."""
    if o.expects != "buffer" or o.output is None or not o.output.is_tensor or not o.buffer:
        return None
    problem = _not_the_buffer(o.output, o.buffer)
    return Fault("the buffer's own memory", problem) if problem else HELD


def _not_the_buffer(output: Output, buffer: Memory) -> str | None:
    if output.shape != buffer.matrix.shape:
        return f"shape {list(output.shape or ())}, not the buffer's {list(buffer.matrix.shape)}"
    if buffer.address is None:
        return None  # no elements: no address to compare
    if output.extent is None or output.extent[0] != buffer.address:
        return "memory at another address"
    pairs = zip(buffer.matrix.shape, buffer.matrix.strides, output.strides or (), strict=True)
    if any(size > 1 and mine != theirs for size, mine, theirs in pairs):
        return f"strides {output.strides}, not the buffer's {buffer.matrix.strides}"
    return None


def no_alias(o: Observation, contract: Contract) -> Outcome:
    """COPY-NO-ALIAS."""
    if o.expects != "fallback" or o.buffer is None or not _has_memory(o, o.buffer):
        return None
    shared = overlaps(o.output, o.buffer)
    return held_unless(shared, "no byte shared with the buffer", "a result inside the buffer")


def fresh(o: Observation, contract: Contract) -> Outcome:
    """COPY-FRESH."""
    if o.expects != "fallback" or not _has_memory(o, o.logits):
        return None
    shared = overlaps(o.output, o.logits)
    return held_unless(shared, "no byte shared with the logits", "a result inside the logits")


def _has_memory(o: Observation, argument: Memory) -> bool:
    return o.output is not None and o.output.extent is not None and argument.address is not None


def overlaps(output: Output | None, memory: Memory) -> bool:
    """Whether a result shares a byte with the elements of an argument."""
    if output is None or output.extent is None or memory.address is None:
        return False
    end = memory.address + memory.matrix.span * FORMATS[memory.matrix.dtype].itemsize
    start, stop = output.extent
    if stop <= memory.address or start >= end:
        return False
    # Interleaved tensors overlap as ranges and yet share nothing: only then look at every byte.
    return start == memory.address or bool(t.isin(_of_output(output), _of_memory(memory)).any())


def _of_output(output: Output) -> t.Tensor:
    start = output.extent[0] if output.extent else 0
    return _bytes(start, output.shape or (), output.strides or (), output.itemsize)


def _of_memory(memory: Memory) -> t.Tensor:
    matrix = memory.matrix
    itemsize = FORMATS[matrix.dtype].itemsize
    return _bytes(memory.address or 0, matrix.shape, matrix.strides, itemsize)


def _bytes(start: int, shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int) -> t.Tensor:
    """The address of every byte of every element."""
    found = t.tensor([start], dtype=t.INTEGERS[64], device="cpu")
    steps = [(size, stride * itemsize) for size, stride in zip(shape, strides, strict=True)]
    for count, step in [*steps, (itemsize, 1)]:
        offsets = t.arange(count, dtype=t.INTEGERS[64], device="cpu") * step
        found = (found[:, None] + offsets[None, :]).reshape(-1)
    return found


def untouched(o: Observation, contract: Contract) -> Outcome:
    """COPY-UNTOUCHED."""
    if o.buffer is None or not (o.expects == "fallback" or o.raised):
        return None
    return _unchanged(o.buffer, "no byte of the buffer's storage changes")


def in_bounds(o: Observation, contract: Contract) -> Outcome:
    """COPY-IN-BOUNDS: the storage around the buffer's elements, byte by byte."""
    if o.expects != "buffer" or o.buffer is None:
        return None
    buffer = o.buffer
    if not buffer.changed:
        return HELD
    # Put the old elements back: what still differs lies outside of them.
    around = bytearray(buffer.after)
    outside = Memory(
        matrix=buffer.matrix,
        front=buffer.front,
        address=buffer.address,
        before=buffer.before,
        after=_with_elements(around, buffer),
        disfigured=buffer.disfigured,
    )
    return _unchanged(outside, "nothing outside the buffer's elements changes")


def _with_elements(raw: bytearray, buffer: Memory) -> bytes:
    t.copy_(elements(raw, buffer.matrix, buffer.front), buffer.bits(buffer.before))
    return bytes(raw)


def _unchanged(memory: Memory, expected: str) -> Outcome:
    if not memory.changed:
        return HELD
    return Fault(expected, memory.first_change())


def untouched_input(o: Observation, contract: Contract) -> Outcome:
    """COPY-INPUT. Logits that are the buffer are COPY-IN-BOUNDS's and COPY-VALUES's business."""
    if o.call.sharing != "separate":
        return None
    return _unchanged(o.logits, "no byte of the logits' storage changes")


def dtype_guard(o: Observation, contract: Contract) -> Outcome:
    """COPY-DTYPE-GUARD. An exception for a test runner is COPY-TOTAL's business."""
    if o.expects != "refusal" or o.buffer is None or (o.raised and o.raised.control):
        return None
    if o.output is not None and not o.output.is_tensor:
        return None
    expected = f"a refusal of the {o.buffer.matrix.dtype} buffer, nothing written"
    if not o.raised:
        return Fault(expected, "returned a result")
    return held_unless(o.buffer.changed, expected, f"wrote, then raised {o.raised}")
