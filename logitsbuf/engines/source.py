"""The files of one release, from a wheel or from a directory, read without unpacking."""

from __future__ import annotations

import re
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from logitsbuf.errors import UsageError

UNKNOWN = "unknown"


@dataclass(frozen=True, kw_only=True)
class SourceFile:
    """One file: its bytes, and the name that tracebacks show."""

    content: bytes
    filename: str


@dataclass(frozen=True, kw_only=True)
class Release:
    """One release of a package, open for reading.

    where: the wheel or directory, for messages.
    version: as its metadata has it, or ``unknown``.
    get: the file at a path such as ``sglang/srt/layers/x.py``, or None when there is none.
    """

    where: Path
    version: str
    get: Callable[[str], SourceFile | None]


@contextmanager
def opened(path: Path, package: str) -> Iterator[Release]:
    """The release in a wheel, an unpacked wheel, or a source tree (``python/<package>``).

    Raises UsageError when nothing is there or it cannot be read.
    """
    if path.is_dir():
        yield _directory(path, package)
    elif path.is_file():
        with _archive(path) as archive:
            yield _wheel(path, archive, package)
    else:
        raise UsageError(f"{path} does not exist; expected a wheel or a tree of {package}")


@contextmanager
def _archive(path: Path) -> Iterator[zipfile.ZipFile]:
    try:
        archive = zipfile.ZipFile(path)
    except (zipfile.BadZipFile, OSError) as error:
        raise UsageError(f"{path} cannot be read ({error}); expected a wheel") from error
    with archive:
        yield archive


def _wheel(path: Path, archive: zipfile.ZipFile, package: str) -> Release:
    def get(name: str) -> SourceFile | None:
        try:
            content = archive.read(name)
        except KeyError:
            return None
        except (zipfile.BadZipFile, OSError, EOFError, zlib.error) as error:
            raise UsageError(f"{path} is damaged at {name} ({error}); fetch it again") from error
        return SourceFile(content=content, filename=f"{path}/{name}")

    # The metadata, not the file's name: a wheel may have been renamed.
    metadata = re.compile(rf"{package}-([^/]+)\.dist-info/")
    found = (metadata.match(name) for name in reversed(archive.namelist()))
    version = next((match[1] for match in found if match), UNKNOWN)
    return Release(where=path, version=version, get=get)


def _directory(path: Path, package: str) -> Release:
    inner = path / "python"
    root = inner if (inner / package).is_dir() else path

    def get(name: str) -> SourceFile | None:
        file = root / name
        if not file.is_file():
            return None
        try:
            return SourceFile(content=file.read_bytes(), filename=str(file))
        except OSError as error:
            raise UsageError(f"{file} cannot be read: {error.strerror}") from error

    return Release(where=path, version=_version_in(root, package), get=get)


def _version_in(root: Path, package: str) -> str:
    """From an unpacked wheel's metadata, else from the version file of a source tree."""
    for metadata in root.glob(f"{package}-*.dist-info"):
        return metadata.name.removeprefix(f"{package}-").removesuffix(".dist-info")
    assignment = re.compile(r"^__version__ *=(?: *version *=)? *[\"']([^\"']+)", re.MULTILINE)
    for file in (root / package / "_version.py", root / package / "version.py"):
        match = assignment.search(file.read_text("utf-8", "replace")) if file.is_file() else None
        if match:
            return match[1]
    return UNKNOWN
