"""What the cells of logits hold.

Ordinary values are normal numbers, distinct from cell to cell as far as the dtype allows, so that
any wrong mapping of cells shows. They come from one table per dtype, of which a seed picks a
window: filling a tensor is one copy. Seed 0 gives 1, 2, 3, … for people to read. Everything else
a float can be (NaN, infinities, subnormals, ties) is planted by name.
"""

from __future__ import annotations

from functools import cache

import torch

from logitsbuf import torchrefs as t
from logitsbuf.case import PATTERNS_SEED, Call, Matrix, Special
from logitsbuf.formats import FORMATS, LOGITS_DTYPES, Format
from logitsbuf.oracle import TABULATED, widening_table

_WINDOWS = 9973  # distance between the windows of two seeds, a prime
_REACH = 40  # ordinary values of wide formats lie in 2**±_REACH: beyond float16, far from the ends
_SHUFFLE = 2654435761  # odd, near 2**32 / golden ratio: neighbours land far apart


def fill(target: t.Tensor, call: Call) -> None:
    """Write the ordinary values and the specials of a call into its logits."""
    matrix = call.logits
    if matrix.rows == 0:
        return
    t.copy_(_cells(target, matrix), _window(call, target.device))
    bits = t.view(target, t.INTEGERS[FORMATS[matrix.dtype].bits])
    for special in call.specials:
        rows, columns = _region(special, matrix)
        pattern = FORMATS[matrix.dtype].specials[special.value]
        t.fill_(bits[rows, columns], t.signed(pattern, FORMATS[matrix.dtype].bits))


def warm(device: torch.device) -> None:
    """Make the tables that small tensors are filled from, so that forked processes share them."""
    for dtype in LOGITS_DTYPES:
        for seed in (0, 1):
            _table(dtype, seed, _rounded_up(1), device)
    for dtype in TABULATED:
        widening_table(dtype)


def _cells(target: t.Tensor, matrix: Matrix) -> t.Tensor:
    """The distinct cells of a tensor: rows that overlap are written as the span they share."""
    if not matrix.layout.overlapping:
        return target
    return t.as_strided(target, (matrix.span,), (1,), target.storage_offset())


def _window(call: Call, device: torch.device) -> t.Tensor:
    matrix = call.logits
    shape = (matrix.span,) if matrix.layout.overlapping else matrix.shape
    count = matrix.span if matrix.layout.overlapping else matrix.rows * matrix.columns
    start = 0 if call.seed <= 0 else call.seed % 1000 * _WINDOWS % 65536
    table = _table(matrix.dtype, min(call.seed, 1), _rounded_up(start + count), device)
    return t.view(table[start : start + count], shape)


def _region(special: Special, matrix: Matrix) -> tuple[slice, slice]:
    every, last_row, last_column = slice(None), matrix.rows - 1, matrix.columns - 1
    if special.place in ("all", "last_row"):
        return (every if special.place == "all" else slice(last_row, None)), every
    if special.place == "last_column":
        return every, slice(last_column, None)
    cells = {
        "first": (0, 0),
        "last": (last_row, last_column),
        "middle": (matrix.rows // 2, matrix.columns // 2),
    }
    row, column = special.cell or cells[special.place]
    return slice(row, row + 1), slice(column, column + 1)


def _rounded_up(count: int) -> int:
    return max(1 << 17, 1 << (count - 1).bit_length())


@cache
def _table(dtype: str, seed: int, count: int, device: torch.device) -> t.Tensor:
    """``count`` cells: every pattern (seed -1), small integers (0), or ordinary values (1)."""
    fmt = FORMATS[dtype]
    index = t.arange(count, dtype=torch.int64, device=device)
    if seed == 0:
        return t.to(index % fmt.exact_integers + 1, t.torch_dtype(dtype))
    bits = _patterns(index, fmt) if seed == PATTERNS_SEED else _ordinary(index, fmt)
    return t.view(t.to(bits, t.INTEGERS[fmt.bits]), t.torch_dtype(dtype))


def _patterns(index: t.Tensor, fmt: Format) -> t.Tensor:
    """Every pattern of a narrow format; of a wide one a sample over all that float32 can tell."""
    if fmt.bits <= 16:
        return index % (1 << fmt.bits)
    if fmt.bits == 32:
        return index * _SHUFFLE % (1 << 32)
    # float64: from below float32's smallest subnormal to above its largest number.
    exponent, scrambled = index % 300 + 1023 - 160, index * _SHUFFLE % (1 << 32)
    return exponent << 52 | scrambled << 20 | index % 2 << 63


def _ordinary(index: t.Tensor, fmt: Format) -> t.Tensor:
    """Bit patterns of normal numbers, shuffled; they repeat only once all have been used."""
    top = (1 << fmt.exponent) - (2 if fmt.ieee else 1)
    low, high = max(1, fmt.bias - _REACH), min(top, fmt.bias + _REACH + 1)
    if not fmt.ieee:
        high -= 1  # the top exponent of e4m3 holds the NaN pattern
    exponents = high - low + 1
    scrambled = index * _SHUFFLE % (2 * exponents << min(fmt.mantissa, 23))
    sign, rest = scrambled % 2, scrambled // 2
    exponent, mantissa = rest % exponents + low, rest // exponents
    if fmt.mantissa > 23:  # float64: the bits that float32 has no room for decide the rounding
        mantissa = mantissa << (fmt.mantissa - 23) | (index * _SHUFFLE) % (1 << 29)
    return exponent << fmt.mantissa | mantissa | sign << (fmt.bits - 1)
