"""Check that source code never executes data: no pickle, eval, exec or unsafe YAML.

Usage: python tools/unsafe_calls.py DIRECTORY ...
"""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

FORBIDDEN_MODULES = {
    "pickle",
    "cPickle",
    "_pickle",
    "cloudpickle",
    "dill",
    "joblib",
    "marshal",
    "shelve",
}
FORBIDDEN_NAMES = {
    "builtins": {"eval", "exec"},
    "yaml": {"load", "load_all", "unsafe_load", "unsafe_load_all", "full_load", "full_load_all"},
}


def unsafe_calls(source: str) -> Iterator[tuple[int, str]]:
    """Line and description of every forbidden construct.

    They are found in the syntax tree, so that comments and strings do not count.
    """
    tree = ast.parse(source)
    imports = [alias for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
    modules = {alias.asname or alias.name: alias.name for alias in imports}
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                reasons = [_forbidden_module(name.name) for name in names]
            case ast.ImportFrom(module=str(module), names=names, level=0):
                reasons = [_forbidden_module(module), *(_forbidden_name(module, name.name) for name in names)]
            case ast.Attribute(value=ast.Name(id=name), attr=attribute):
                reasons = [_forbidden_name(modules.get(name, ""), attribute)]
            case ast.Call(func=ast.Name(id=name)):
                reasons = [_forbidden_name("builtins", name)]
            case ast.keyword(arg="allow_pickle", value=ast.Constant(value=True)):
                reasons = ["allows pickle"]
            case _:
                continue
        yield from ((node.lineno, reason) for reason in reasons if reason)


def _forbidden_module(module: str) -> str | None:
    root = module.split(".")[0]
    return f"imports {root}" if root in FORBIDDEN_MODULES else None


def _forbidden_name(module: str, name: str) -> str | None:
    return f"uses {module}.{name}" if name in FORBIDDEN_NAMES.get(module, ()) else None


def main(directories: list[str]) -> int:
    """Print every forbidden construct in the directories; returns the exit code, 1 if there is any."""
    found = [
        f"{path}:{line}: {reason}"
        for directory in directories
        for path in sorted(Path(directory).rglob("*.py"))
        for line, reason in unsafe_calls(path.read_text())
    ]
    print("\n".join(found) or "no unsafe calls")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
