"""The lines of a script that build a call's tensors."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from logitsbuf.arena import GUARD, allocate
from logitsbuf.case import PATTERNS_SEED, Call, Matrix
from logitsbuf.formats import FORMATS
from logitsbuf.values import fill

_SHOWN = 64
"""Cells up to which the values are written out."""


def buffer_lines(call: Call) -> Iterator[str]:
    """``buffer_storage`` and ``buffer``, a view into it; earlier storages are used again."""
    if call.buffer is None:
        yield "buffer = buffer_storage = None"
        return
    if call.buffer_of is None:
        yield f"buffer_storage = {_poisoned(call, call.buffer)}"
    else:
        yield f"buffer_storage = storages[{call.buffer_of}][1]"
        yield f"buffer_storage.fill_({_poison(call, call.buffer)})"
    yield f"buffer = buffer_storage{_view(call.buffer)}"


def logits_lines(call: Call) -> Iterator[str]:
    """``logits_storage`` and ``logits``, a view into it, filled."""
    if call.sharing != "separate":
        yield from _shared_lines(call)
        return
    if call.logits_of is not None:
        yield f"logits_storage = storages[{call.logits_of}][0]"
    else:
        yield f"logits_storage = {_poisoned(call, call.logits)}"
    yield f"logits = logits_storage{_view(call.logits)}"
    if call.logits.rows:
        yield f"{_cells(call.logits)}.copy_({_values(call)})"
        yield from _planted(call)


def _shared_lines(call: Call) -> Iterator[str]:
    yield f"buffer.copy_({_values(call)})"
    yield from (line.replace("logits[", "buffer[") for line in _planted(call))
    alias = {
        "same_object": "buffer",
        "same_bytes": f"buffer_storage{_view(call.logits)}",
        "dlpack": "torch.from_dlpack(buffer)",
    }
    yield f"logits = {alias[call.sharing]}"
    yield "logits_storage = buffer_storage"


def _front(matrix: Matrix) -> int:
    itemsize = FORMATS[matrix.dtype].itemsize
    return 0 if matrix.layout.tight else GUARD // itemsize + matrix.layout.offset


def _poisoned(call: Call, matrix: Matrix) -> str:
    around = 0 if matrix.layout.tight else GUARD // FORMATS[matrix.dtype].itemsize
    count = _front(matrix) + matrix.span + matrix.layout.pad + around
    if matrix.layout.tight:
        count = matrix.span
    value, dtype = _poison(call, matrix), f"torch.{matrix.dtype}"
    return f"torch.full(({count},), {value}, dtype={dtype}, device=device)"


def _poison(call: Call, matrix: Matrix) -> str:
    if not FORMATS[matrix.dtype].specials:
        return "7"
    return {"finite": "7.0", "nan": 'float("nan")', "large": "224.0"}[call.poison]


def _view(matrix: Matrix) -> str:
    return f".as_strided({matrix.shape}, {matrix.strides}, {_front(matrix)})"


def _cells(matrix: Matrix) -> str:
    """The distinct cells: rows that overlap are written as the span they share."""
    if not matrix.layout.overlapping:
        return "logits"
    return f"logits_storage[{_front(matrix)}:{_front(matrix) + matrix.span}]"


def _values(call: Call) -> str:
    """The values to copy in: written out if few, else by a formula (specials follow)."""
    matrix = call.logits
    count = matrix.span if matrix.layout.overlapping else matrix.rows * matrix.columns
    shape = () if matrix.layout.overlapping else matrix.shape
    if count <= _SHOWN and call.seed != PATTERNS_SEED:
        return f"torch.tensor({_written(call)}, dtype=torch.{matrix.dtype}, device=device)"
    reshaped = f".reshape({shape})" if shape else ""
    if call.seed == PATTERNS_SEED:
        return f"{_patterns(matrix, count)}.view(torch.{matrix.dtype}){reshaped}"
    numbers = f"(torch.arange({count}, device=device) % 251 + 1)"
    return f"{numbers}.to(torch.{matrix.dtype}){reshaped}"


def _patterns(matrix: Matrix, count: int) -> str:
    """The formula of :func:`logitsbuf.values.fill` for patterns, as text."""
    bits, cells = FORMATS[matrix.dtype].bits, f"torch.arange({count}, device=device)"
    formulas = {
        8: cells,
        16: cells,
        32: f"({cells} * 2654435761 % 2**32)",
        64: f"({cells} % 300 + 863 << 52 | {cells} * 2654435761 % 2**32 << 20)",
    }
    return f"{formulas[bits]}.to(torch.{'uint8' if bits == 8 else f'int{bits}'})"


def _written(call: Call) -> str:
    matrix = call.logits
    block = allocate(matrix, torch.device("cpu"))
    fill(block.tensor, call)
    shown = block.tensor
    if matrix.layout.overlapping:
        shown = shown.as_strided((matrix.span,), (1,))
    text = repr(shown.to(torch.float64).tolist())
    return text.replace("nan", 'float("nan")').replace("inf", 'float("inf")')


def _planted(call: Call) -> Iterator[str]:
    """Specials of logits that were filled by a formula."""
    matrix = call.logits
    if matrix.rows * matrix.columns <= _SHOWN or matrix.layout.overlapping:
        return
    places = {
        "first": "0, 0",
        "last": "-1, -1",
        "middle": f"{matrix.rows // 2}, {matrix.columns // 2}",
        "last_column": ":, -1",
        "last_row": "-1, :",
        "all": ":, :",
    }
    bits = FORMATS[matrix.dtype].bits
    integer = "uint8" if bits == 8 else f"int{bits}"
    for special in call.specials:
        pattern = FORMATS[matrix.dtype].specials[special.value]
        signed = pattern - (1 << bits) if bits > 8 and pattern >> (bits - 1) else pattern
        place = places.get(special.place, special.place)
        yield f"logits.view(torch.{integer})[{place}] = {signed}  # {special.value}"
