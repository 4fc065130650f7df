"""Plain-data descriptions of what an implementation is called with.

A case is everything a run needs to know to repeat itself: it is drawn, reduced, printed on one
line, and rebuilt on any device. It holds no tensor, so drawing one costs microseconds; and the
same case gives the same bytes everywhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

LayoutKind = Literal["rows", "columns", "step", "repeat", "overlap"]
Poison = Literal["finite", "nan", "large"]
Sharing = Literal["separate", "same_object", "same_bytes", "dlpack"]
Mode = Literal[
    "plain",
    "no_grad",
    "inference_mode",
    "inference_tensors",
    "autocast_bfloat16",
    "autocast_float16",
    "default_float64",
    "default_float16",
    "default_bfloat16",
    "default_device_meta",
]

MODES: tuple[Mode, ...] = get_args(Mode)
Expectation = Literal["buffer", "fallback", "refusal"]

PLACES = ("first", "last", "middle", "last_column", "last_row", "all")
POISONS: tuple[Poison, ...] = get_args(Poison)
SHARINGS: tuple[Sharing, ...] = get_args(Sharing)


PATTERNS_SEED = -1
"""A seed that fills with bit patterns instead of ordinary values: every one of an 8- or 16-bit
format in order, a sample over the whole range of a wider one."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Where the elements of a ``[rows, columns]`` tensor lie in its storage, in elements.

    kind: ``rows`` has unit column stride; ``columns`` is column-major; ``step`` takes every
        second element of a row; ``repeat`` has row stride 0; ``overlap`` has row stride 1.
    pad: elements between one row (or column) and the next.
    offset: elements between the leading guard and the first element.
    tight: the storage holds the tensor and nothing else, no guard around it.
    """

    kind: LayoutKind = "rows"
    pad: int = 0
    offset: int = 0
    tight: bool = False

    def strides(self, rows: int, columns: int) -> tuple[int, int]:
        """Row and column stride, in elements."""
        match self.kind:
            case "rows":
                return columns + self.pad, 1
            case "columns":
                return 1, max(rows, 1) + self.pad
            case "step":
                return 2 * columns + self.pad, 2
            case "repeat":
                return 0, 1
            case "overlap":
                return 1, 1

    @property
    def unit_columns(self) -> bool:
        """Whether COPY-TOTAL covers this layout."""
        return self.kind not in ("columns", "step")

    @property
    def overlapping(self) -> bool:
        """Whether elements of the tensor may share memory: fit for logits, never for a buffer."""
        return self.kind in ("repeat", "overlap")


@dataclass(frozen=True, slots=True)
class Matrix:
    """A 2-D tensor: ``[rows, columns]``, a dtype by torch's name, a layout."""

    rows: int
    columns: int
    dtype: str = "float32"
    layout: Layout = Layout()

    @property
    def shape(self) -> tuple[int, int]:
        return self.rows, self.columns

    @property
    def strides(self) -> tuple[int, int]:
        return self.layout.strides(self.rows, self.columns)

    @property
    def span(self) -> int:
        """Elements from the first to the last one, both included."""
        if self.rows == 0:
            return 0
        row, column = self.strides
        return (self.rows - 1) * row + (self.columns - 1) * column + 1


@dataclass(frozen=True, slots=True)
class Special:
    """A value by name (``nan``, ``-0.0``, …) planted at a place of the logits.

    place: one of PLACES, or a cell as ``row,column``.
    """

    place: str
    value: str

    @property
    def cell(self) -> tuple[int, int] | None:
        """Row and column, if the place is a cell."""
        row, comma, column = self.place.partition(",")
        both = comma and row.isdecimal() and column.isdecimal()
        return (int(row), int(column)) if both else None


@dataclass(frozen=True, slots=True)
class Call:
    """One call ``copy_logits_to_buffer(logits, buffer, vocab_size)``.

    seed: chooses the ordinary values; 0 gives 1, 2, 3, … row by row.
    poison: what buffers and guards hold before the call.
    sharing: other than ``separate``, the logits are the buffer.
    logits_of, buffer_of: in a sequence, the earlier call whose storage is used again (with new
        content), at the same address and with no more rows.
    freed: the tensors and results of earlier calls are freed before this one, so that an allocator
        may give their addresses again.
    """

    logits: Matrix
    vocab_size: int
    buffer: Matrix | None = None
    seed: int = 0
    specials: tuple[Special, ...] = ()
    poison: Poison = "finite"
    mode: Mode = "plain"
    sharing: Sharing = "separate"
    logits_of: int | None = None
    buffer_of: int | None = None
    freed: bool = False

    @property
    def narrowed(self) -> tuple[int, int]:
        """The output's shape."""
        return self.logits.rows, min(self.logits.columns, self.vocab_size)

    @property
    def matches(self) -> bool:
        return self.buffer is not None and self.buffer.shape == self.narrowed

    @property
    def expects(self) -> Expectation:
        """What the contract says of this call."""
        if self.buffer is None or not self.matches:
            return "fallback"
        return "buffer" if self.buffer.dtype == "float32" else "refusal"

    @property
    def matrices(self) -> Iterator[Matrix]:
        yield self.logits
        if self.buffer is not None:
            yield self.buffer

    @property
    def exotic_layout(self) -> bool:
        return not all(matrix.layout.unit_columns for matrix in self.matrices)


@dataclass(frozen=True, slots=True)
class Case:
    """Calls made one after the other, and the scenario that they were drawn for."""

    scenario: str
    calls: tuple[Call, ...]

    def __str__(self) -> str:
        from logitsbuf.caseformat import one_line

        return one_line(self)

    def _repr_pretty_(self, printer: Any, _cycle: bool) -> None:
        """Hypothesis and IPython print a case on one line through this hook."""
        printer.text(str(self))


def single(scenario: str, call: Call) -> Case:
    """A case of one call."""
    return Case(scenario, (call,))


def last_alone(case: Case) -> Case:
    """The case without all calls but the last."""
    return replace(case, calls=(replace(case.calls[-1], logits_of=None, buffer_of=None),))


def without_calls(case: Case, start: int, stop: int) -> Case:
    """The case without a run of its calls; calls that used their tensors get their own."""

    def moved(reference: int | None) -> int | None:
        if reference is None or start <= reference < stop:
            return None
        return reference - (stop - start) * (reference >= stop)

    kept = (*case.calls[:start], *case.calls[stop:])
    if any(call.logits_of is not None or call.buffer_of is not None for call in kept):
        kept = tuple(
            replace(call, logits_of=moved(call.logits_of), buffer_of=moved(call.buffer_of))
            for call in kept
        )
    return Case(case.scenario, kept)
