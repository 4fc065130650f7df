"""A released wheel, fetched with pip once and kept.

Only a file inside the wheel is wanted, never the package: any wheel of the release will do,
also one for another Python or platform.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from logitsbuf.errors import UsageError

_VERSION = re.compile(r"\d+(\.\d+)*((a|b|rc)\d+)?(\.post\d+)?(\.dev\d+)?")

_PLATFORMS = ("--platform=manylinux_2_34_x86_64", "--platform=manylinux2014_x86_64")
# First what fits this Python, then a wheel that every release with compiled parts has.
_ATTEMPTS = (
    (),
    ("--implementation=cp", "--python-version=3.12", "--abi=cp312", *_PLATFORMS),
)


def cache_directory() -> Path:
    """Where wheels are kept: ``$LOGITSBUF_CACHE``, else the user's cache directory."""
    own = os.environ.get("LOGITSBUF_CACHE")
    if own:
        return Path(own)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "logitsbuf"


def wheel_of(package: str, version: str) -> Path:
    """The wheel of one release; the network is touched only when it is not yet kept.

    Raises UsageError for something that is no version, and when pip cannot fetch it.
    """
    if not _VERSION.fullmatch(version):
        expected = f"{package}==X with X such as 0.5.14 or 0.5.8.post1"
        raise UsageError(f"{package}=={version} names no version; expected {expected}")
    directory = cache_directory() / "wheels"
    kept = sorted(directory.glob(f"{package}-{version}-*.whl"))
    return kept[0] if kept else _fetch(package, version, directory)


def _fetch(package: str, version: str, directory: Path) -> Path:
    try:
        directory.mkdir(parents=True, exist_ok=True)
        # In the same file system, so that the move is atomic: a parallel worker sees all or
        # nothing, and two that fetch at once replace the wheel by itself.
        with tempfile.TemporaryDirectory(prefix=".fetch-", dir=directory) as partial:
            wheel = _download(f"{package}=={version}", Path(partial))
            return wheel.replace(directory / wheel.name)
    except OSError as error:
        raise UsageError(
            f"{package}=={version} cannot be kept in {directory}: {error.strerror or error}; "
            "expected a writable directory (LOGITSBUF_CACHE names another)"
        ) from error


def _download(requirement: str, directory: Path) -> Path:
    words = ""
    for options in _ATTEMPTS:
        words = _pip_download(requirement, directory, options)
        for wheel in directory.glob("*.whl"):
            return wheel
    raise UsageError(
        f"pip cannot fetch {requirement}: {_last_error(words)}; expected a released version"
    )


def _pip_download(requirement: str, directory: Path, options: tuple[str, ...]) -> str:
    """Ask pip for the wheel; returns what it complained about."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-input", "--retries=2"]
    command += ["--disable-pip-version-check", "--no-deps", "--only-binary=:all:", *options]
    command += ["--dest", str(directory), requirement]
    # `-m` puts the working directory on the path: run where nothing can shadow pip.
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)
    return done.stderr


def _last_error(words: str) -> str:
    """The last line that tells the cause, without the addresses of the user's indexes."""
    lines = [line for line in words.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR:")]
    last = (errors or lines or ["it said nothing"])[-1].removeprefix("ERROR:").strip()
    return re.sub(r"\w+://\S+|(?<=host=)\S+", "...", last)
