"""From the text that names an implementation to the implementation."""

from __future__ import annotations

import importlib
import os
import sys
from typing import Any

from logitsbuf import interrupt
from logitsbuf.contract import Contract
from logitsbuf.engines import is_engine, load_engine
from logitsbuf.errors import UsageError
from logitsbuf.implementation import Implementation
from logitsbuf.mutants import by_name
from logitsbuf.reference import copy_logits_to_buffer

FORMS = "reference, pkg.mod:attr, sglang, sglang==X, sglang@PATH or mutant:NAME"


def resolve(spec: str, device: str = "cpu") -> Implementation:
    """The implementation that a text names. UsageError if there is none."""
    if spec == "reference":
        return from_object(copy_logits_to_buffer, spec)
    if spec.startswith("mutant:"):
        return from_object(by_name(spec.removeprefix("mutant:")).make(), spec)
    if is_engine(spec):
        return load_engine(spec, device)
    module, colon, attribute = spec.partition(":")
    if not colon or not module or not attribute:
        raise UsageError(f"implementation {spec!r}; expected {FORMS}")
    return from_object(_attribute(_module(module, spec), attribute, spec), spec)


def as_implementation(target: Any, device: str) -> Implementation:
    """What a caller of logitsbuf's functions hands over: a text that names it, or the thing."""
    return resolve(target, device) if isinstance(target, str) else from_object(target, None)


def from_object(target: Any, spec: str | None) -> Implementation:
    """A function, or an object with ``copy_logits_to_buffer`` and perhaps ``contract``."""
    copy = getattr(target, "copy_logits_to_buffer", target)
    if not callable(copy) or isinstance(copy, type):
        raise UsageError(
            f"{spec or 'the implementation'} is {target!r}; expected a function or an object "
            "with a callable copy_logits_to_buffer"
        )
    contract = getattr(target, "contract", Contract())
    if not isinstance(contract, Contract):
        raise UsageError(f"contract is {contract!r}; expected a logitsbuf.Contract")
    name = _qualified(copy)
    return Implementation(spec=spec, qualified_name=name, copy=copy, contract=contract)


def _qualified(copy: Any) -> str:
    module = getattr(copy, "__module__", None) or type(copy).__module__
    return f"{module}.{getattr(copy, '__qualname__', type(copy).__qualname__)}"


def _module(name: str, spec: str) -> Any:
    # As ``python -m`` and pytest do: a console script alone does not look where it was started.
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        with interrupt.watching():
            return importlib.import_module(name)
    except BaseException as error:  # noqa: BLE001  (a module may do anything while it is imported)
        interrupt.reraise_if_real(error)
        what = f"{type(error).__name__}: {error}".rstrip(": ")
        raise UsageError(f"{spec}: importing {name} failed with {what}") from None


def _attribute(module: Any, path: str, spec: str) -> Any:
    target = module
    for name in path.split("."):
        try:
            target = getattr(target, name)
        except Exception as error:  # noqa: BLE001  (a module's own __getattr__ may raise anything)
            where = getattr(target, "__name__", repr(target))
            raise UsageError(f"{spec}: {where} has no {name!r} ({error})") from None
    return target
