"""Execute one module file of a package whose other modules stay away.

torch and the standard library are real, every other import gives stand-ins. Nothing enters
``sys.modules``, so several releases of one package live in one process, next to an installed
one.
"""

from __future__ import annotations

import builtins
import linecache
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from logitsbuf.engines.source import SourceFile
from logitsbuf.engines.standin import Phase, Standin
from logitsbuf.errors import HarnessError, LogitsbufError, UsageError

_REAL = frozenset({"torch"}) | sys.stdlib_module_names


def execute(
    source: SourceFile, module: str, *, also_real: frozenset[str] = frozenset()
) -> dict[str, Any]:
    """The names that the file defines, as if it were the module of that dotted name.

    also_real: further top-level packages to import for real.

    Raises UsageError for a file that is not Python, HarnessError when executing it fails.
    """
    phase = Phase()
    importer = _importer(module.rpartition(".")[0], _REAL | also_real, phase)
    namespace: dict[str, Any] = {
        # dataclasses looks a class's module up in sys.modules: this one is there.
        "__name__": __name__,
        "__file__": source.filename,
        "__builtins__": {**vars(builtins), "__import__": importer},
    }
    _run(source, namespace)
    phase.sealed = True
    # torch.compile would import the module of this name to find the globals of its functions;
    # without a name it takes them as they are.
    del namespace["__name__"]
    return namespace


def _run(source: SourceFile, namespace: dict[str, Any]) -> None:
    _show_in_tracebacks(source)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an engine's own deprecations are not our matter
            # Its asserts are part of what is judged: keep them whatever this process does.
            code = compile(source.content, source.filename, "exec", dont_inherit=True, optimize=0)
            exec(code, namespace)
    except SyntaxError as error:
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        expected = f"expected a module that Python {version} reads"
        raise UsageError(f"{source.filename} does not compile ({error}); {expected}") from error
    except LogitsbufError as error:
        raise HarnessError(f"{source.filename} cannot be executed alone: {error}") from error
    except Exception as error:
        cause = f"{type(error).__name__}: {error}"
        raise HarnessError(f"{source.filename} cannot be executed alone: {cause}") from error


def _importer(package: str, real: frozenset[str], phase: Phase) -> Callable[..., Any]:
    """An ``__import__`` for a module in that package."""

    def import_(
        name: str,
        globals: Mapping[str, object] | None = None,
        locals: Mapping[str, object] | None = None,
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> Any:
        root = name.partition(".")[0]
        if level == 0 and root in real:
            return builtins.__import__(name, None, None, fromlist or ())
        if level:
            name = ".".join([*package.split(".")[: 1 - level or None], *filter(None, [name])])
        # As the real one: `import a.b` gives `a`, `from a.b import c` gives `a.b`.
        return Standin(name if fromlist else root, phase)

    return import_


def _show_in_tracebacks(source: SourceFile) -> None:
    """Make the lines known: a file inside a wheel cannot be found, and triton needs them too."""
    text = source.content.decode("utf-8", "replace")
    lines = text.splitlines(keepends=True)
    linecache.cache[source.filename] = (len(text), None, lines, source.filename)
