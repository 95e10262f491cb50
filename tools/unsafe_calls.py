"""Fail where source code could run data: pickle, eval, exec, unsafe YAML.

python tools/unsafe_calls.py DIRECTORY ...
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
FORBIDDEN_BUILTINS = {"eval", "exec"}
UNSAFE_YAML = {"load", "load_all", "unsafe_load", "unsafe_load_all", "full_load", "full_load_all"}


def unsafe_calls(source: str) -> Iterator[tuple[int, str]]:
    """Line and reason of every forbidden construct, by the syntax tree, so that text does not count."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import(names=names):
                modules = [name.name.split(".")[0] for name in names]
            case ast.ImportFrom(module=str(module), level=0):
                modules = [module.split(".")[0]]
            case _:
                modules = []
        for module in FORBIDDEN_MODULES.intersection(modules):
            yield node.lineno, f"imports {module}"  # pyright: ignore[reportAttributeAccessIssue]
        match node:
            case ast.Call(func=ast.Name(id=name)) if name in FORBIDDEN_BUILTINS:
                yield node.lineno, f"calls {name}"
            case ast.Attribute(value=ast.Name(id="builtins"), attr=name) if name in FORBIDDEN_BUILTINS:
                yield node.lineno, f"uses builtins.{name}"
            case ast.Attribute(value=ast.Name(id="yaml"), attr=name) if name in UNSAFE_YAML:
                yield node.lineno, f"uses yaml.{name}"
            case ast.keyword(arg="allow_pickle", value=ast.Constant(value=True)):
                yield node.value.lineno, "allows pickle"
            case _:
                pass


def main(directories: list[str]) -> int:
    """Print what is found; 1 if anything is."""
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
