"""Writes docs/contract.md: every service, message and enum of the contract with its comments.

The comments of the .proto files are the documentation of the contract; this page only lays them out for reading and
for following types by their links. `--print` shows the page instead. What only the services store is left out.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from generate import COMMON_PROTOS, PROTOS, ROOT, WELL_KNOWN_PROTOS
from google.protobuf import descriptor_pb2
from grpc_tools import protoc

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE = ROOT / "docs" / "contract.md"
INTERNAL = "rami/store/"
FIRST = (
    "game_service",
    "matchmaking_service",
    "player_service",
    "rule_sheet_service",
    "room",
    "view",
    "event",
    "action",
)
"""What a reader wants first; the other files follow by name."""
FIELD = descriptor_pb2.FieldDescriptorProto
SCALARS = {
    FIELD.TYPE_BOOL: "bool",
    FIELD.TYPE_BYTES: "bytes",
    FIELD.TYPE_DOUBLE: "double",
    FIELD.TYPE_INT32: "int32",
    FIELD.TYPE_INT64: "int64",
    FIELD.TYPE_STRING: "string",
    FIELD.TYPE_UINT32: "uint32",
    FIELD.TYPE_UINT64: "uint64",
}
INTRODUCTION = """\
# The contract

Made from the comments of [`protos/rami`](../protos/rami) by `make docs`; a test holds it to them. Players call
GameService, RuleSheetService, MatchmakingService and PlayerService. DecisionService is for those who
[run bots](bot-service.md), and MatchRoomService is what matchmaking asks of the game service.

A field that is `optional` tells unset from zero; every other scalar is zero, false or empty when it is not sent. Fields
of one `oneof` exclude each other. [Errors](errors.md) says what every call may end with.
"""


class Comments:
    """The comments of one file, by the path of what they stand before."""

    def __init__(self, file: descriptor_pb2.FileDescriptorProto) -> None:
        self._leading = {tuple(place.path): place for place in file.source_code_info.location}

    def of(self, *path: int) -> list[str]:
        """The paragraphs before an element, each on one line."""
        place = self._leading.get(path)
        text = place.leading_comments if place is not None else ""
        paragraphs = "\n".join(line.strip() for line in text.splitlines()).split("\n\n")
        return [" ".join(paragraph.split()) for paragraph in paragraphs if paragraph.strip()]

    def of_file(self) -> list[str]:
        """The paragraphs at the head of the file: the comment of its syntax line."""
        return self.of(descriptor_pb2.FileDescriptorProto.SYNTAX_FIELD_NUMBER)


def read_contract() -> list[descriptor_pb2.FileDescriptorProto]:
    """Every public file in reading order. Exits with protoc's code when it refuses one."""
    files = sorted(str(path.relative_to(PROTOS)) for path in PROTOS.rglob("*.proto"))
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "contract.binpb"
        paths = [f"-I{path}" for path in (PROTOS, COMMON_PROTOS, WELL_KNOWN_PROTOS)]
        code = protoc.main(["protoc", *paths, "--include_source_info", f"--descriptor_set_out={out}", *files])
        if code != 0:
            sys.exit(code)
        described = descriptor_pb2.FileDescriptorSet.FromString(out.read_bytes())
    return sorted((file for file in described.file if not file.name.startswith(INTERNAL)), key=_reading_order)


def _reading_order(file: descriptor_pb2.FileDescriptorProto) -> tuple[int, str]:
    stem = Path(file.name).stem
    return FIRST.index(stem) if stem in FIRST else len(FIRST), file.name


def page() -> str:
    """The whole page."""
    files = read_contract()
    lines = [INTRODUCTION]
    for file in files:
        lines.append(f"- [{file.name}](#{_anchor(file.name)})")
        lines += [f"  - [{service.name}](#{service.name.lower()})" for service in file.service]
    for file in files:
        lines += ["", f"## {file.name}", "", *_paragraphs(Comments(file).of_file())]
        lines += _file(file)
    return "\n".join(_single_blanks(lines)) + "\n"


def _file(file: descriptor_pb2.FileDescriptorProto) -> Iterator[str]:
    comments = Comments(file)
    kinds = descriptor_pb2.FileDescriptorProto
    for place, service in enumerate(file.service):
        path = (kinds.SERVICE_FIELD_NUMBER, place)
        yield from ("", f"### {service.name}", "", *_paragraphs(comments.of(*path)), "")
        yield from ("| call | request | response | what |", "| --- | --- | --- | --- |")
        for number, method in enumerate(service.method):
            request = ("stream " if method.client_streaming else "") + _linked(method.input_type)
            response = ("stream " if method.server_streaming else "") + _linked(method.output_type)
            what = _cell(comments.of(*path, descriptor_pb2.ServiceDescriptorProto.METHOD_FIELD_NUMBER, number))
            yield f"| `{method.name}` | {request} | {response} | {what} |"
    for place, message in enumerate(file.message_type):
        path = (kinds.MESSAGE_TYPE_FIELD_NUMBER, place)
        yield from ("", f"### {message.name}", "", *_paragraphs(comments.of(*path)), "")
        if message.field:
            yield from ("| field | no. | type | what |", "| --- | --- | --- | --- |")
        for number, field in enumerate(message.field):
            what = _cell(comments.of(*path, descriptor_pb2.DescriptorProto.FIELD_FIELD_NUMBER, number))
            yield f"| `{field.name}` | {field.number} | {_type(message, field)} | {what} |"
    for place, enum in enumerate(file.enum_type):
        path = (kinds.ENUM_TYPE_FIELD_NUMBER, place)
        yield from ("", f"### {enum.name}", "", *_paragraphs(comments.of(*path)), "")
        yield from ("| value | no. | what |", "| --- | --- | --- |")
        for number, value in enumerate(enum.value):
            what = _cell(comments.of(*path, descriptor_pb2.EnumDescriptorProto.VALUE_FIELD_NUMBER, number))
            yield f"| `{value.name}` | {value.number} | {what} |"


def _type(message: descriptor_pb2.DescriptorProto, field: descriptor_pb2.FieldDescriptorProto) -> str:
    entries = {nested.name: nested for nested in message.nested_type if nested.options.map_entry}
    entry = entries.get(field.type_name.rpartition(".")[2])
    if entry is not None:
        key, value = (_linked(part.type_name) or SCALARS[part.type] for part in entry.field)
        return f"map of {key} to {value}"
    name = _linked(field.type_name) or SCALARS[field.type]
    if field.label == FIELD.LABEL_REPEATED:
        return f"repeated {name}"
    if field.proto3_optional:
        return f"optional {name}"
    if field.HasField("oneof_index"):
        return f"{name}, oneof `{message.oneof_decl[field.oneof_index].name}`"
    return name


def _linked(type_name: str) -> str:
    """A type as a link to where it stands on the page; plain for those of others, empty for none."""
    package, _, name = type_name.removeprefix(".").rpartition(".")
    return f"[{name}](#{name.lower()})" if package.startswith("rami.") else f"{package}.{name}".strip(".")


def _anchor(heading: str) -> str:
    """What a heading's anchor is made of: its letters, digits, hyphens and underscores."""
    return "".join(letter for letter in heading.lower() if letter.isalnum() or letter in "-_")


def _paragraphs(paragraphs: list[str]) -> Iterator[str]:
    for paragraph in paragraphs:
        yield from (paragraph, "")


def _cell(paragraphs: list[str]) -> str:
    return "<br>".join(paragraphs).replace("|", "\\|")


def _single_blanks(lines: list[str]) -> Iterator[str]:
    previous = ""
    for line in lines:
        if line or previous:
            yield line
        previous = line


if __name__ == "__main__":
    if sys.argv[1:] == ["--print"]:
        sys.stdout.write(page())
    else:
        PAGE.write_text(page(), encoding="utf-8")
