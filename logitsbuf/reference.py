"""The reference implementation of the logits copy, plain and obviously right.

The hot path compares shapes, copies and returns. Everything that explains bad input is off that
path: it runs only once a cheap comparison has already failed.
Source of the contract: sgl-project/sglang#29943.
"""

from __future__ import annotations

from typing import NoReturn

import torch
from torch import Tensor


def copy_logits_to_buffer(logits: Tensor, buffer: Tensor | None, vocab_size: int) -> Tensor:
    """Copy logits into the shared float32 buffer if they fit it exactly.

    logits: ``[rows, width]``, floating (float64, float32, bfloat16, float16, float8), any row
        stride. A width above ``vocab_size`` is a padded head: the padding is dropped. A width
        below it is a reduced draft vocabulary.
    buffer: None, or float32 ``[rows, min(width, vocab_size)]`` on the logits' device to be
        written and returned. A buffer of any other shape is left alone.
    vocab_size: the logical vocabulary width, in columns, at least 1.

    Returns float32 ``[rows, min(width, vocab_size)]``: the buffer on a match, else a tensor that
    does not touch it (for float32 logits it may alias the logits).

    Raises TypeError for an argument that is no tensor, logits that are not floating, or a
    matching buffer that is not float32; ValueError for logits or a buffer that are not 2-D,
    ``vocab_size`` below 1, or a matching buffer on another device. Nothing is written then.
    """
    if not _plausible(logits, buffer, vocab_size):
        _refuse(logits, buffer, vocab_size)
    narrowed = logits[:, :vocab_size] if logits.shape[1] > vocab_size else logits
    if buffer is None or buffer.shape != narrowed.shape:
        return narrowed.float()
    if buffer.dtype is not torch.float32:
        raise TypeError(f"the buffer matches but is {buffer.dtype}; expected torch.float32")
    if buffer.device != narrowed.device:
        raise ValueError(f"the buffer is on {buffer.device}; expected {narrowed.device}")
    return buffer.copy_(narrowed)


def _plausible(logits: object, buffer: object, vocab_size: object) -> bool:
    return (
        isinstance(logits, Tensor)
        and logits.dim() == 2
        and logits.is_floating_point()
        and (buffer is None or (isinstance(buffer, Tensor) and buffer.dim() == 2))
        and type(vocab_size) is int
        and vocab_size >= 1
    )


def _refuse(logits: object, buffer: object, vocab_size: object) -> NoReturn:
    """Raise the error that names what was given and what was expected."""
    _check_logits(logits)
    if buffer is not None and not isinstance(buffer, Tensor):
        raise TypeError(f"buffer is {_name(buffer)}; expected a tensor or None")
    if isinstance(buffer, Tensor) and buffer.dim() != 2:
        raise ValueError(f"buffer has shape {tuple(buffer.shape)}; expected [rows, columns]")
    if type(vocab_size) is not int:
        raise TypeError(f"vocab_size is {_name(vocab_size)}; expected an int")
    raise ValueError(f"vocab_size is {vocab_size}; expected at least 1")


def _check_logits(logits: object) -> None:
    if not isinstance(logits, Tensor):
        raise TypeError(f"logits is {_name(logits)}; expected a tensor")
    if logits.dim() != 2:
        raise ValueError(f"logits has shape {tuple(logits.shape)}; expected [rows, width]")
    if not logits.is_floating_point():
        raise TypeError(f"logits is {logits.dtype}; expected a floating dtype")


def _name(value: object) -> str:
    return f"{value!r} of type {type(value).__name__}"
