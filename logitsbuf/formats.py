"""The number formats of logits and buffers, bit by bit.

Facts from IEEE 754 and from the OCP 8-bit floating point specification: e5m2 is like IEEE 754;
e4m3 (torch's ``float8_e4m3fn``) has no infinity, and only the pattern of all ones is NaN.
No torch here: widths, biases and patterns are plain integers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType


@dataclass(frozen=True, kw_only=True)
class Format:
    """A dtype by torch's name.

    exponent, mantissa: field widths in bits; bias: of the exponent; ieee: whether the all-ones
    exponent holds infinity and NaN. specials: values by name, as bit patterns (no specials: a
    dtype that only buffers have). exact_integers: 1 … n are all exact.
    """

    name: str
    bits: int
    exponent: int = 0
    mantissa: int = 0
    bias: int = 0
    ieee: bool = True
    exact_integers: int = 0
    specials: Mapping[str, int] = field(default_factory=dict)

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return self.bits // 8

    @property
    def sign(self) -> int:
        return 1 << (self.bits - 1)


def _float(name: str, *, exponent: int, mantissa: int, ieee: bool = True) -> Format:
    bits, top = 1 + exponent + mantissa, (1 << exponent) - 1
    specials = _ieee_specials(bits, mantissa, top) if ieee else _e4m3_specials(bits)
    specials.update({"65504": 0x477FE000} if bits == 32 else {})
    # From float64 the conversion rounds: the specials that show how are there only.
    specials.update(_FLOAT64_ONLY if bits == 64 else {})
    return Format(
        name=name,
        bits=bits,
        exponent=exponent,
        mantissa=mantissa,
        bias=top >> 1,
        ieee=ieee,
        exact_integers=1 << min(mantissa + 1, 20),
        specials=MappingProxyType(specials),
    )


def _ieee_specials(bits: int, mantissa: int, top: int) -> dict[str, int]:
    infinity, quiet = top << mantissa, 1 << (mantissa - 1)
    positive = {
        "nan": infinity | quiet,
        "inf": infinity,
        "0.0": 0,
        "subnormal": 1,
        "largest_subnormal": (1 << mantissa) - 1,
        "smallest_normal": 1 << mantissa,
        "max": infinity - 1,
    }
    # A signalling NaN: quiet bit clear, payload not zero (e5m2 has room for one payload).
    return {**_with_signs(positive, bits), "snan": infinity | 1}


def _e4m3_specials(bits: int) -> dict[str, int]:
    positive = {"nan": 0x7F, "0.0": 0, "subnormal": 1, "largest_subnormal": 7}
    return _with_signs({**positive, "smallest_normal": 8, "max": 0x7E}, bits)


def _with_signs(positive: dict[str, int], bits: int) -> dict[str, int]:
    sign = 1 << (bits - 1)
    return positive | {f"-{name}": pattern | sign for name, pattern in positive.items()}


_FLOAT64_ONLY = {
    "beyond_float32": 0x47F0000000000000,  # 2**128
    "-beyond_float32": 0xC7F0000000000000,
    "1+1e-12": 0x3FF0000000001198,
    "1e300": 0x7E37E43C8800759C,
    "rounds_to_inf": 0x47EFFFFFF0000000,  # half an ulp above float32's largest: ties to even
    "rounds_to_max": 0x47EFFFFFEFFFFFFF,
    "tie_to_even_down": 0x3FF0000010000000,  # 1 + 2**-24
    "tie_to_even_up": 0x3FF0000030000000,  # 1 + 3 * 2**-24
    "above_tie": 0x3FF0000010000001,
    "float32_subnormal": 0x36A8000000000000,  # 1.5 * 2**-149: a tie between subnormals
    "rounds_to_subnormal": 0x3690000000000001,  # just above 2**-150
    "underflows": 0x3690000000000000,  # 2**-150: ties to zero
    "-underflows": 0xB690000000000000,
    "subnormal_to_normal": 0x380FFFFFE0000000,  # rounds up to float32's smallest normal
}

FORMATS: Mapping[str, Format] = MappingProxyType(
    {
        fmt.name: fmt
        for fmt in (
            _float("float32", exponent=8, mantissa=23),
            _float("bfloat16", exponent=8, mantissa=7),
            _float("float16", exponent=5, mantissa=10),
            _float("float64", exponent=11, mantissa=52),
            _float("float8_e4m3fn", exponent=4, mantissa=3, ieee=False),
            _float("float8_e5m2", exponent=5, mantissa=2),
            Format(name="int32", bits=32),
            Format(name="int64", bits=64),
            Format(name="uint8", bits=8),
        )
    }
)

LOGITS_DTYPES: tuple[str, ...] = tuple(f.name for f in FORMATS.values() if f.specials)
WRONG_BUFFER_DTYPES: tuple[str, ...] = tuple(
    name for name in FORMATS if name not in ("float32", "uint8")
)
