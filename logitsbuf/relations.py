"""The relations of buffer to logits, each built from one record of free choices.

A relation is a scenario: it builds a call from a draft, and knows whether a call still stands in
it, so that a counterexample is reduced inside its own scenario. Sweep and search use the same
relations; only where the drafts come from differs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from logitsbuf.case import Call, Layout, Matrix, Poison, Special

Shape = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Draft:
    """Free choices from which any relation makes a call.

    rows, columns: of the narrowed logits, both at least 1.
    delta: how far apart a misfit is, at least 1.
    surplus: logits' width less vocab_size: above 0 a padded head, below 0 a reduced vocabulary.
    twist: picks the second form of a relation that has two.
    """

    rows: int = 2
    columns: int = 3
    delta: int = 1
    surplus: int = 0
    dtype: str = "bfloat16"
    logits_layout: Layout = Layout()
    buffer_layout: Layout = Layout()
    wrong_dtype: str = "bfloat16"
    specials: tuple[Special, ...] = ()
    poison: Poison = "finite"
    seed: int = 0
    twist: bool = False

    def call(self, shape: Shape | None, *, buffer_dtype: str = "float32") -> Call:
        """The call with a buffer of this shape."""
        buffer = None
        if shape is not None:
            buffer = Matrix(*shape, buffer_dtype, self.buffer_layout)
        padding, reduction = max(self.surplus, 0), max(-self.surplus, 0)
        return Call(
            logits=Matrix(self.rows, self.columns + padding, self.dtype, self.logits_layout),
            vocab_size=self.columns + reduction,
            buffer=buffer,
            seed=self.seed,
            specials=self.specials,
            poison=self.poison,
        )


@dataclass(frozen=True)
class Relation:
    """How a buffer relates to the logits: why it is tried, how it is built and recognised."""

    name: str
    why: str
    build: Callable[[Draft], Call]
    holds: Callable[[Call], bool]


def _no_buffer(d: Draft) -> Call:
    return d.call(None)


def _exact(d: Draft) -> Call:
    return replace(d, surplus=min(d.surplus, 0)).call((d.rows, d.columns))


def _exact_after_narrowing(d: Draft) -> Call:
    return replace(d, surplus=max(abs(d.surplus), 1)).call((d.rows, d.columns))


def _more_rows(d: Draft) -> Call:
    d = replace(d, rows=max(d.rows, 2))
    return d.call((d.rows + d.delta, d.columns))


def _fewer_rows(d: Draft) -> Call:
    rows = max(d.rows, 2)
    return replace(d, rows=rows + d.delta).call((rows, d.columns))


def _one_row_buffer(d: Draft) -> Call:
    return replace(d, rows=max(d.rows, 2)).call((1, d.columns))


def _one_row_logits(d: Draft) -> Call:
    return replace(d, rows=1).call((max(d.rows, 1 + d.delta), d.columns))


def _wider_buffer(d: Draft) -> Call:
    """Twisted: the buffer has the width of the padded logits, or of the full vocabulary."""
    d = replace(d, columns=max(d.columns, 2))
    return d.call((d.rows, d.columns + (abs(d.surplus) if d.twist and d.surplus else d.delta)))


def _narrower_buffer(d: Draft) -> Call:
    return replace(d, columns=d.columns + d.delta).call((d.rows, d.columns))


def _one_column_logits(d: Draft) -> Call:
    return replace(d, columns=1).call((d.rows, max(d.columns, 1 + d.delta)))


def _same_count(d: Draft) -> Call:
    factor = 2 + d.delta % 3
    if d.twist:
        return replace(d, rows=d.rows * factor).call((d.rows, d.columns * factor))
    return replace(d, columns=d.columns * factor).call((d.rows * factor, d.columns))


def _transposed(d: Draft) -> Call:
    columns = d.columns + (d.columns == d.rows)
    return replace(d, columns=columns).call((columns, d.rows))


def _wrong_dtype_match(d: Draft) -> Call:
    return d.call((d.rows, d.columns), buffer_dtype=d.wrong_dtype)


def _wrong_dtype_misfit(d: Draft) -> Call:
    """Twisted: twice the columns, the bytes of a 16-bit buffer that would hold float32."""
    shape = (d.rows, 2 * d.columns) if d.twist else (d.rows + d.delta, d.columns)
    return d.call(shape, buffer_dtype=d.wrong_dtype)


def _zero_rows(d: Draft) -> Call:
    """No logits rows, or (twisted) none in the buffer, of the right dtype or another."""
    dtype = "float32" if d.seed % 3 else d.wrong_dtype
    if d.twist:
        return d.call((0, d.columns), buffer_dtype=dtype)
    rows = (0, 1, d.rows + 1, None)[d.delta % 4]
    shape = None if rows is None else (rows, d.columns)
    return replace(d, rows=0).call(shape, buffer_dtype=dtype)


def _any_shapes(d: Draft) -> Call:
    """A buffer of unrelated small shape; near enough to the logits' to coincide now and then."""
    rows, columns = 1 + d.seed % 5, 1 + d.seed // 5 % 7
    return d.call((rows, columns))


def _float32(test: Callable[[Shape, Shape], bool]) -> Callable[[Call], bool]:
    """A predicate over shapes, of calls whose buffer is float32."""

    def holds(call: Call) -> bool:
        buffer = call.buffer
        proper = buffer is not None and buffer.dtype == "float32"
        return buffer is not None and proper and test(call.narrowed, buffer.shape)

    return holds


def _wrong_dtype(call: Call) -> bool:
    return call.buffer is not None and call.buffer.dtype != "float32"


def _fits(call: Call) -> bool:
    return call.expects == "buffer" and call.logits.rows > 0


def _padded(call: Call) -> bool:
    return call.logits.columns > call.vocab_size


_ALL = (
    Relation(
        "no_buffer",
        "Outside of captured steps there is no buffer.",
        _no_buffer,
        lambda call: call.buffer is None and call.logits.rows > 0,
    ),
    Relation(
        "exact",
        "The buffer fits the logits as they are.",
        _exact,
        lambda call: _fits(call) and not _padded(call),
    ),
    Relation(
        "exact_after_narrowing",
        "The buffer fits once the padded columns are dropped.",
        _exact_after_narrowing,
        lambda call: _fits(call) and _padded(call),
    ),
    Relation(
        "more_rows",
        "A full-size buffer meets a smaller batch.",
        _more_rows,
        _float32(lambda n, b: n[1] == b[1] and b[0] > n[0] > 1),
    ),
    Relation(
        "fewer_rows",
        "A batch outgrows the buffer.",
        _fewer_rows,
        _float32(lambda n, b: n[1] == b[1] and n[0] > b[0] > 1),
    ),
    Relation(
        "one_row_buffer",
        "Many rows meet a one-row buffer.",
        _one_row_buffer,
        _float32(lambda n, b: n[1] == b[1] and n[0] > b[0] == 1),
    ),
    Relation(
        "one_row_logits",
        "torch broadcasts one row over a larger buffer without a word.",
        _one_row_logits,
        _float32(lambda n, b: n[1] == b[1] and b[0] > n[0] == 1),
    ),
    Relation(
        "wider_buffer",
        "Reduced-vocabulary logits meet a full-width buffer.",
        _wider_buffer,
        _float32(lambda n, b: n[0] == b[0] > 0 and b[1] > n[1] > 1),
    ),
    Relation(
        "narrower_buffer",
        "Full-width logits meet a draft runner's buffer.",
        _narrower_buffer,
        _float32(lambda n, b: n[0] == b[0] > 0 and b[1] < n[1]),
    ),
    Relation(
        "one_column_logits",
        "torch broadcasts one column over a wider buffer without a word.",
        _one_column_logits,
        _float32(lambda n, b: n[0] == b[0] > 0 and b[1] > n[1] == 1),
    ),
    Relation(
        "same_count",
        "As many elements in another shape.",
        _same_count,
        _float32(lambda n, b: n != b and n[0] * n[1] == b[0] * b[1] > 0),
    ),
    Relation(
        "transposed",
        "The same two sizes the other way round.",
        _transposed,
        _float32(lambda n, b: n != b and n == (b[1], b[0]) and n[0] > 0),
    ),
    Relation(
        "wrong_dtype_match",
        "A buffer of the right shape that is not float32 must not be written.",
        _wrong_dtype_match,
        lambda call: _wrong_dtype(call) and call.matches,
    ),
    Relation(
        "wrong_dtype_misfit",
        "A buffer that does not match is ignored, whatever its dtype.",
        _wrong_dtype_misfit,
        lambda call: _wrong_dtype(call) and not call.matches,
    ),
    Relation(
        "zero_rows",
        "An idle rank has no rows at all.",
        _zero_rows,
        lambda call: any(matrix.rows == 0 for matrix in call.matrices),
    ),
    Relation(
        "any_shapes",
        "Whatever nobody listed.",
        _any_shapes,
        lambda call: call.buffer is not None,
    ),
)

RELATIONS: Mapping[str, Relation] = MappingProxyType({r.name: r for r in _ALL})
