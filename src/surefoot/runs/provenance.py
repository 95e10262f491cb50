"""What produced a result."""

import subprocess
from collections.abc import Iterable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import jax


def provenance() -> dict[str, Any]:
    """Version, git revision of the source where it is a checkout, and device."""
    return {
        "version": version("surefoot"),
        "revision": _revision(),
        "device": jax.default_backend(),
    }


def _revision() -> str | None:
    command = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty", "--abbrev=12"]
    try:
        found = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return found.stdout.strip()


def revisions_of(configs: Iterable[Mapping[str, Any]]) -> list[str]:
    """The versions and, where they are known, the revisions of the source that runs began with."""
    return sorted(
        {" ".join(str(each[name]) for name in ("version", "revision") if each.get(name)) for each in configs}
    )
