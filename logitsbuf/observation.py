"""What one call did, as plain data.

An observation holds bytes and numbers, no tensor of the call: checks can be pure, and what the
implementation keeps alive can be told from what the harness does.
"""

from __future__ import annotations

from dataclasses import dataclass

from logitsbuf import torchrefs as t
from logitsbuf.case import Call, Expectation, Matrix
from logitsbuf.formats import FORMATS


@dataclass(frozen=True, kw_only=True)
class Memory:
    """The storage of an argument before and after the call.

    disfigured: what the tensor object is not any more, apart from its elements.
    front: bytes to the first element. address: of the first element, None for no elements.
    """

    matrix: Matrix
    front: int
    address: int | None
    before: bytes
    after: bytes
    disfigured: tuple[str, ...] = ()

    @property
    def changed(self) -> bool:
        return self.before != self.after or bool(self.disfigured)

    def first_change(self) -> str:
        """What the tensor itself is not any more, or where the first changed byte lies."""
        if self.disfigured:
            return f"the tensor itself {' and '.join(self.disfigured)}"
        offset = self._first_changed_byte() - self.front
        place = f"byte {offset}" if offset >= 0 else f"{-offset} bytes before"
        return f"a write, first at {place} of its elements"

    def _first_changed_byte(self) -> int:
        pairs = zip(self.before, self.after, strict=True)
        return next(i for i, (old, new) in enumerate(pairs) if old != new)

    def bits(self, raw: bytes) -> t.Tensor:
        """The tensor's elements in ``raw`` (before or after), as integers on the CPU."""
        return elements(bytearray(raw), self.matrix, self.front)


@dataclass(frozen=True, kw_only=True)
class Raised:
    """An exception of the implementation. control: it was meant for a test runner or Python."""

    type_name: str
    message: str
    control: bool

    def __str__(self) -> str:
        text = " ".join(self.message.split())
        return f"{self.type_name}: {text[:200]}" if text else self.type_name


@dataclass(frozen=True, kw_only=True)
class Output:
    """What the implementation returned.

    type_name: of the Python object; the other fields are None unless it is a dense tensor.
    unreadable: why its elements could not be read, or nothing.
    bits: int32 elements on the CPU, if it is float32 on the logits' device.
    extent: addresses of the first byte and past the last one, if it has elements and a memory.
    """

    type_name: str
    is_tensor: bool
    unreadable: str = ""
    shape: tuple[int, ...] | None = None
    strides: tuple[int, ...] | None = None
    dtype: str | None = None
    itemsize: int = 0
    device: str | None = None
    bits: t.Tensor | None = None
    extent: tuple[int, int] | None = None


@dataclass(frozen=True, kw_only=True)
class Costs:
    """What a recorded call did: names of operators, in order.

    seen: whether the recorder could see the write of a match (a foreign kernel hides from it).
    """

    allocations: tuple[str, ...]
    writes: tuple[str, ...]
    views: tuple[str, ...]
    host_reads: tuple[str, ...]
    seen: bool


@dataclass(frozen=True, kw_only=True)
class Observation:
    """One call: its description, what it was given, what it did.

    narrowed, expects: of the call, worked out once. device: the logits'. elsewhere: tensors of
    earlier calls that changed (None: the first call). state: global state that changed. kept:
    arguments or results that outlived the call, None if nobody looked.
    """

    call: Call
    narrowed: tuple[int, int]
    expects: Expectation
    device: str
    logits: Memory
    buffer: Memory | None
    raised: Raised | None
    output: Output | None
    elsewhere: tuple[str, ...] | None = None
    state: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    costs: Costs | None = None
    kept: tuple[str, ...] | None = None


def elements(raw: bytearray, matrix: Matrix, front: int) -> t.Tensor:
    """A writable integer view of a tensor's elements inside raw bytes."""
    integer = t.INTEGERS[FORMATS[matrix.dtype].bits]
    if not raw:
        return t.empty(matrix.shape, dtype=integer, device="cpu")
    flat = t.frombuffer(raw, dtype=integer)
    return t.as_strided(flat, matrix.shape, matrix.strides, front // FORMATS[matrix.dtype].itemsize)
