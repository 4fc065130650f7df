"""Inert objects in the place of what an engine imports and we do not have.

The rules:
- While a module file is executed, a stand-in goes along with everything: its attributes,
  calls, subscripts and operators give more stand-ins, it decorates, it is a base class
  without content, and it is false, as a probe for hardware that is absent.
- Afterwards (*sealed*), carrying a stand-in around is harmless, but calling one or asking it
  for a truth value, a number or an operator raises HarnessError: the engine's code is then
  about to do or decide something with a thing that is not there, and whatever came out would
  be blamed on the engine.
- A stand-in knows the dotted name of what it stands for, so that the error names it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NoReturn

from logitsbuf.errors import HarnessError


class Phase:
    """Shared by the stand-ins of one module file: whether its execution is over."""

    def __init__(self) -> None:
        self.sealed = False


class Standin:
    """One thing that is not there; see the rules above."""

    __slots__ = ("_standin_name", "_standin_phase")

    def __init__(self, name: str, phase: Phase) -> None:
        self._standin_name = name
        self._standin_phase = phase

    def __repr__(self) -> str:
        return f"<stand-in for {self._standin_name}>"

    def __getattr__(self, attribute: str) -> Standin:
        # Special names are how typing, dataclasses and others probe for protocols: have none.
        if attribute.startswith("__"):
            raise AttributeError(attribute)
        return Standin(f"{self._standin_name}.{attribute}", self._standin_phase)

    def __getitem__(self, _: object) -> Standin:
        return Standin(f"{self._standin_name}[...]", self._standin_phase)

    def __call__(self, *_: object, **__: object) -> Standin:
        return self._derived("called", "()")

    def __mro_entries__(self, _: tuple[object, ...]) -> tuple[type, ...]:
        self._inert_or_loud("used as a base class")
        return ()

    def __bool__(self) -> bool:
        self._inert_or_loud("used as a condition")
        return False

    def __iter__(self) -> Iterator[Standin]:
        self._inert_or_loud("iterated over")
        return iter(())

    def __instancecheck__(self, _: object) -> bool:
        self._inert_or_loud("used as a type")
        return False

    def __enter__(self) -> Standin:
        return self._derived("entered", "()")

    def __exit__(self, *_: object) -> None:
        self._inert_or_loud("left")

    __hash__ = object.__hash__  # as defining __eq__ takes it away

    @classmethod
    def __torch_function__(
        cls, function: Any, _: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> NoReturn:
        """Torch asks here when it is handed a stand-in, instead of complaining about its type."""
        names = ", ".join(_names_in((*args, *(kwargs or {}).values())))
        called = getattr(function, "__name__", "a torch function")
        raise HarnessError(_message(names, f"given to {called}"))

    def _derived(self, use: str, suffix: str) -> Standin:
        self._inert_or_loud(use)
        return Standin(self._standin_name + suffix, self._standin_phase)

    def _inert_or_loud(self, use: str) -> None:
        if self._standin_phase.sealed:
            raise HarnessError(_message(self._standin_name, use))


def name_of(standin: Standin) -> str:
    """The dotted name of what it stands for, as imported: ``sglang.srt.utils.is_npu``."""
    return standin._standin_name


def leak(standin: Standin, use: str) -> HarnessError:
    """The error for a stand-in that turned up where the judged result would depend on it."""
    return HarnessError(_message(name_of(standin), use))


def _names_in(values: Iterable[object]) -> Iterator[str]:
    for value in values:
        if isinstance(value, Standin):
            yield name_of(value)
        elif isinstance(value, (tuple, list)):
            yield from _names_in(value)


def _message(name: str, use: str) -> str:
    return f"the stand-in for {name} was {use}: the engine's code needs the real one"


# What gives another stand-in while the file is executed.
_OPERATORS = "lt le eq ne gt ge neg pos abs invert"
_BINARY = "add sub mul matmul truediv floordiv mod divmod pow lshift rshift and or xor"
# What must give a number, a text or a size: no guess is inert, so these are always loud.
_CONVERSIONS = "int float complex index len contains str format round trunc next"


def _operator(name: str) -> Any:
    def operate(self: Standin, *_: object) -> Standin:
        return self._derived(f"used in the operation {name}", f".{name}()")

    return operate


def _conversion(name: str) -> Any:
    def convert(self: Standin, *_: object) -> NoReturn:
        raise leak(self, f"converted with {name}")

    return convert


for _name in (*_OPERATORS.split(), *(p + n for n in _BINARY.split() for p in ("", "r"))):
    setattr(Standin, f"__{_name}__", _operator(f"__{_name}__"))
for _name in _CONVERSIONS.split():
    setattr(Standin, f"__{_name}__", _conversion(f"__{_name}__"))
