"""The files of the page, which are part of the package."""

import mimetypes
from importlib.resources import files


def page_files() -> dict[str, tuple[bytes, str]]:
    """The files of the page by name, with their media types."""
    found: dict[str, tuple[bytes, str]] = {}
    for each in files("surefoot.web").joinpath("page").iterdir():
        kind = "text/javascript" if each.name.endswith(".js") else mimetypes.guess_type(each.name)[0]
        found[each.name] = each.read_bytes(), f"{kind or 'text/plain'}; charset=utf-8"
    return found
