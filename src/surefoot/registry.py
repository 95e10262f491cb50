"""Names and what they stand for: built-in entries, and a user's own as `package.module:name`."""

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any, Generic, TypeVar

from surefoot.errors import UserError, did_you_mean
from surefoot.text import error_line, single_line

Entry = TypeVar("Entry")


def is_import_path(name: str) -> bool:
    """Whether a name is of the form `package.module:name`."""
    return ":" in name


def import_object(field: str, path: Any, accepted: str) -> Any:
    """The object that `package.module:name` names."""
    if not isinstance(path, str):  # In Python, a user may give the object itself.
        raise UserError(f"{field}: got {single_line(path)}, accepted: {accepted}")
    module, _, name = path.partition(":")
    try:
        return getattr(import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise UserError(f"{field}: got {path} ({error_line(error)}), accepted: {accepted}") from error


class Registry(Mapping[str, Entry], Generic[Entry]):
    """The entries of one kind by name, such as all agents."""

    def __init__(self, field: str, kind: type[Entry], entries: Mapping[str, Entry]) -> None:
        self.field, self.kind = field, kind
        self._entries = dict(entries)

    def resolve(self, name: str) -> Entry:
        """The entry of this name; `package.module:name` imports a user's own."""
        if name in self._entries:
            return self._entries[name]
        if not is_import_path(name):
            raise UserError(
                f"{self.field}: got {name}, accepted: {self.accepted}{did_you_mean(name, self._entries)}"
            )
        found = import_object(self.field, name, self.accepted)
        if not isinstance(found, self.kind):
            raise UserError(
                f"{self.field}: got {name}, which is a {type(found).__name__}, accepted: {self.kind.__name__}"
            )
        return found

    @property
    def accepted(self) -> str:
        """The names that are accepted, as text."""
        return f"{', '.join(self._entries)}, or package.module:name"

    def __getitem__(self, name: str) -> Entry:
        return self._entries[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)
