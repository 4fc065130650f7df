"""From the text that names a release to the file or directory that holds it."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

from logitsbuf.engines.fetch import wheel_of
from logitsbuf.errors import UsageError


def located(spec: str, package: str) -> tuple[str, Path]:
    """The spec in a form that holds in any working directory, and where its release is.

    Forms: ``package==X``, ``package@PATH``, ``package`` (the installed one).

    Raises UsageError for another form, and for a release that cannot be had.
    """
    if spec == package:
        return spec, _installed(package)
    if spec.startswith(f"{package}=="):
        return spec, wheel_of(package, spec.removeprefix(f"{package}=="))
    text = spec.removeprefix(f"{package}@")
    if text in ("", spec):
        expected = f"{package}==X, {package}@PATH (a wheel or a tree) or {package}"
        raise UsageError(f"{spec!r} names no release of {package}; expected {expected}")
    path = Path(os.path.abspath(Path(text).expanduser()))
    return f"{package}@{path}", path


def _installed(package: str) -> Path:
    """The directory that holds the installed package, found without importing it."""
    try:
        found = importlib.util.find_spec(package)
    except ValueError:  # a module of this name without a spec is in sys.modules
        found = None
    for directory in (found and found.submodule_search_locations) or ():
        return Path(directory).parent
    expected = f"{package}==X or {package}@PATH"
    raise UsageError(f"{package!r} names the installed one, but none is; expected {expected}")
