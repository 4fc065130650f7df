"""The torch operations that the judge itself uses.

They are bound here, when logitsbuf is imported and before an implementation is, so that an
implementation that patches torch cannot blind its judge.
"""

from __future__ import annotations

from ctypes import string_at

import torch
import torch.utils.dlpack

Tensor = torch.Tensor

arange = torch.arange
as_strided = torch.as_strided
empty = torch.empty
equal = torch.equal
full = torch.full
frombuffer = torch.frombuffer
isin = torch.isin
tensor = torch.tensor
where = torch.where
from_dlpack = torch.utils.dlpack.from_dlpack

copy_ = Tensor.copy_
contiguous = Tensor.contiguous
data_ptr = Tensor.data_ptr
detach = Tensor.detach
fill_ = Tensor.fill_
item = Tensor.item
resolve_neg = Tensor.resolve_neg
to = Tensor.to
view = Tensor.view
size = Tensor.size
stride = Tensor.stride

default_dtype = torch.get_default_dtype
set_default_dtype = torch.set_default_dtype
rng_state = torch.get_rng_state
set_rng_state = torch.set_rng_state
is_grad_enabled = torch.is_grad_enabled
set_grad_enabled = torch.set_grad_enabled

INTEGERS = {8: torch.uint8, 16: torch.int16, 32: torch.int32, 64: torch.int64}
"""The integer dtype that shows the bits of a format, by width."""

_TORCH_DTYPES = {
    "float32": torch.float32,
    "bfloat16": torch.bfloat16,
    "float16": torch.float16,
    "float64": torch.float64,
    "float8_e4m3fn": torch.float8_e4m3fn,
    "float8_e5m2": torch.float8_e5m2,
    "int32": torch.int32,
    "int64": torch.int64,
    "uint8": torch.uint8,
}


def torch_dtype(name: str) -> torch.dtype:
    """The dtype by the name that cases use."""
    return _TORCH_DTYPES[name]


def signed(pattern: int, bits: int) -> int:
    """A bit pattern as the value of the integer dtype of that width (8 bits are unsigned)."""
    return pattern - (1 << bits) if bits > 8 and pattern >> (bits - 1) else pattern


def raw_bytes(storage: Tensor) -> bytes:
    """The bytes of a one-dimensional uint8 tensor, read past torch on the CPU."""
    on_host = storage if storage.device.type == "cpu" else to(storage, "cpu")
    return string_at(data_ptr(on_host), size(on_host, 0)) if size(on_host, 0) else b""
