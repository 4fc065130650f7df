"""The expected conversion to float32, by bit arithmetic.

Nothing here asks torch to convert a float: the judge must not share a fault with the judged.
Widening is exact, so it is a table over all patterns of a
narrow format (bfloat16 needs a shift only). Narrowing from
float64 rounds to nearest, ties to even, and overflows to infinity (IEEE 754-2019, 4.3.1, 7.4).
"""

from __future__ import annotations

from functools import cache

from logitsbuf import torchrefs as t
from logitsbuf.formats import FORMATS, Format

_QUIET_NAN = 0x7FC00000
_INFINITY = 0x7F800000
_BIAS = 127
_MANTISSA = 23
_REBIAS = (1023 - _BIAS) << 52
_NORMAL = _REBIAS + (1 << 52)  # float64 bits of float32's smallest normal number
_LARGEST = _REBIAS + (254 << 52)  # no more than float32's largest binade, where nothing overflows


def float32_bits(bits: t.Tensor, dtype: str) -> t.Tensor:
    """Bits of a format (its integer dtype, any shape) to int32 bits of the float32 result.

    A NaN becomes one quiet NaN: payload and sign are free, so compare with :func:`is_nan`.
    """
    if dtype == "float32":
        return bits
    if dtype == "float64":
        return _narrow(bits)
    if dtype == "bfloat16":
        return t.to(bits, t.INTEGERS[32]) << 16
    return widening_table(dtype)[t.to(bits, t.INTEGERS[64]) & ((1 << FORMATS[dtype].bits) - 1)]


def is_nan(bits: t.Tensor) -> t.Tensor:
    """Where int32 bits are a float32 NaN."""
    return (bits & 0x7FFFFFFF) > _INFINITY


TABULATED = ("float16", "float8_e4m3fn", "float8_e5m2")
"""Formats whose subnormals are normal in float32, widened by table."""


@cache
def widening_table(dtype: str) -> t.Tensor:
    """float32 bits (int32) of every pattern of a tabulated format."""
    fmt = FORMATS[dtype]
    magnitudes = [widen(pattern, fmt) for pattern in range(fmt.sign)]
    both = magnitudes + [t.signed(bits | 1 << 31, 32) for bits in magnitudes]
    return t.tensor(both, dtype=t.INTEGERS[32], device="cpu")


def widen(magnitude: int, fmt: Format) -> int:
    """float32 bits of a pattern without its sign."""
    exponent, mantissa = divmod(magnitude, 1 << fmt.mantissa)
    if _is_special(exponent, mantissa, fmt):
        return _INFINITY if fmt.ieee and mantissa == 0 else _QUIET_NAN
    if exponent == 0:
        return _widen_subnormal(mantissa, fmt)
    return (exponent - fmt.bias + _BIAS) << _MANTISSA | mantissa << (_MANTISSA - fmt.mantissa)


def _is_special(exponent: int, mantissa: int, fmt: Format) -> bool:
    top = exponent == (1 << fmt.exponent) - 1
    return top and (fmt.ieee or mantissa == (1 << fmt.mantissa) - 1)


def _widen_subnormal(mantissa: int, fmt: Format) -> int:
    """mantissa · 2**(1 - bias - mantissa bits), which is normal in float32."""
    if mantissa == 0:
        return 0
    high = mantissa.bit_length() - 1
    exponent = high + 1 - fmt.bias - fmt.mantissa + _BIAS
    return exponent << _MANTISSA | (mantissa - (1 << high)) << (_MANTISSA - high)


def _narrow(bits: t.Tensor) -> t.Tensor:
    """float64 bits (int64) to float32 bits."""
    magnitude = bits & ((1 << 63) - 1)
    if ((magnitude >= _NORMAL) & (magnitude < _LARGEST)).all():
        rounded = _round_off(magnitude - _REBIAS, 29)  # the common case, quickly
    else:
        rounded = _round_magnitude(magnitude)
    return t.to(rounded | (bits < 0) << 31, t.INTEGERS[32])


def _round_magnitude(magnitude: t.Tensor) -> t.Tensor:
    """float64 bits without sign to float32 bits without sign."""
    exponent = (magnitude >> 52) - (1023 - _BIAS)
    # Below float32's normal range the hidden bit is shifted out as well. Past 55 bits everything
    # is below half of the smallest subnormal; float64's own subnormals are far below it.
    shift = t.where(exponent < 1, 30 - exponent, 29).clamp(max=60)
    hidden = (magnitude & ((1 << 52) - 1)) | 1 << 52
    rounded = _round_off(t.where(exponent < 1, hidden, magnitude - _REBIAS), shift)
    # A carry out of the mantissa has already raised the exponent; past the top it is infinity.
    finite = t.where(rounded > _INFINITY, _INFINITY, rounded)
    return t.where(magnitude > 0x7FF << 52, _QUIET_NAN, finite)


def _round_off(value: t.Tensor, shift: t.Tensor | int) -> t.Tensor:
    """value >> shift, rounded to nearest, ties to even."""
    kept = value >> shift
    half = (1 << shift) >> 1
    rest = value - (kept << shift)
    return kept + (rest + (kept & 1) > half)
