"""Writes docs/python-client.txt: every public name of the Python client with its signature.

What stands in it is promised to those who use the library, so a change of it is a change for them: a test holds the
file to the code, and a review sees what is added or gone. `--print` shows it instead.
"""

from __future__ import annotations

import ast
import inspect
import sys
import textwrap
from dataclasses import is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ForwardRef

import rami_client

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE = Path(__file__).resolve().parent.parent / "docs" / "python-client.txt"


def page() -> str:
    """The whole file."""
    lines = ["# rami_client: every public name and its signature. Refreshed by `make docs`."]
    for name in rami_client.__all__:
        lines += ["", *_named(name, getattr(rami_client, name))]
    return "\n".join(lines) + "\n"


def _named(name: str, value: Any) -> Iterator[str]:
    if inspect.isclass(value):
        yield from _class(value)
    else:
        yield _function(name, value)


def _class(owner: type) -> Iterator[str]:
    bases = [base.__name__ for base in owner.__bases__ if base is not object]
    yield f"class {owner.__name__}({', '.join(bases)})" if bases else f"class {owner.__name__}"
    if any("__init__" in vars(base) for base in _own_bases(owner)):
        yield f"    {_function('__init__', owner.__init__)}"
    for name, member in sorted(_members(owner).items()):
        if isinstance(member, property):
            yield f"    {name}: {_written(inspect.signature(member.fget).return_annotation)}"
        elif isinstance(member, classmethod):
            yield f"    classmethod {_function(name, member.__func__)}"
        elif inspect.isfunction(member):
            yield f"    {_function(name, member)}"
        else:
            yield f"    {name}: {_written(member)}"


def _members(owner: type) -> dict[str, Any]:
    """Public methods, properties and attributes of a class and of its bases that have no entry of their own."""
    members: dict[str, Any] = {}
    for base in reversed(_own_bases(owner)):
        own: dict[str, Any] = {**dict.fromkeys(_assigned(base), "attribute"), **inspect.get_annotations(base)}
        own |= {
            name: member
            for name, member in vars(base).items()
            if inspect.isfunction(member) or isinstance(member, property | classmethod)
        }
        members |= {name: member for name, member in own.items() if not name.startswith("_")}
    return members


def _own_bases(owner: type) -> list[type]:
    """A class and those bases of this library that are not public themselves."""
    bases = [base for base in owner.__mro__ if base.__module__.startswith("rami_client")]
    return [base for base in bases if base is owner or base.__name__ not in rami_client.__all__]


def _assigned(owner: type) -> Iterator[str]:
    """The names that the constructor of a class sets on the object, if it is written in Python."""
    if "__init__" not in vars(owner) or is_dataclass(owner):
        return
    for node in ast.walk(ast.parse(textwrap.dedent(inspect.getsource(owner.__init__)))):
        if isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from (target.attr for target in targets if isinstance(target, ast.Attribute))


def _function(name: str, function: Any) -> str:
    """A function with its annotations as they were written."""
    signature = inspect.signature(function)
    parts: list[str] = []
    kind = inspect.Parameter
    for parameter in signature.parameters.values():
        if parameter.kind is kind.KEYWORD_ONLY and "*" not in parts:
            parts.append("*")
        stars = {kind.VAR_POSITIONAL: "*", kind.VAR_KEYWORD: "**"}.get(parameter.kind, "")
        annotation = "" if parameter.annotation is kind.empty else f": {_written(parameter.annotation)}"
        default = "" if parameter.default is kind.empty else f" = {parameter.default!r}"
        parts.append(f"{stars}{parameter.name}{annotation}{default}")
    returns = signature.return_annotation
    arrow = "" if returns is inspect.Signature.empty else f" -> {_written(returns)}"
    prefix = "async " if inspect.iscoroutinefunction(function) else ""
    return f"{prefix}def {name}({', '.join(parts)}){arrow}"


def _written(annotation: Any) -> str:
    if isinstance(annotation, ForwardRef):
        return annotation.__forward_arg__
    return annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))


if __name__ == "__main__":
    if sys.argv[1:] == ["--print"]:
        sys.stdout.write(page())
    else:
        PAGE.write_text(page(), encoding="utf-8")
