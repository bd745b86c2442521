"""The files that the edge serves beside gRPC: a browser client, held in memory.

Each file is an exact path with a fixed answer, read when Envoy starts: no path leads out of the folder, no file of
the folder is missed, and no further process is needed. A folder that changes is served anew after a restart.
"""

from __future__ import annotations

import mimetypes
import os
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

MAX_FILE_BYTES: Final = 8 << 20
MAX_FILES: Final = 1000
INDEX: Final = "index.html"
_TYPES: Final = {
    ".js": "text/javascript",
    ".mjs": "text/javascript",
    ".map": "application/json",
    ".wasm": "application/wasm",
    ".webmanifest": "application/manifest+json",
    ".woff2": "font/woff2",
    ".webp": "image/webp",
}
_TEXTS: Final = ("text/", "application/json", "application/manifest+json")


class FilesError(Exception):
    """A folder that cannot be served; the text says why."""


def file_routes(folder: Path) -> list[dict[str, Any]]:
    """A route for every file of a folder, and for every folder with an index.html. Hidden files are left out.

    Raises FilesError for a folder that is not there, and for more or larger files than a proxy should hold.
    """
    if not folder.is_dir():
        raise FilesError(f"RAMI_EDGE_STATIC_FOLDER: no such folder: {folder}")
    routes = []
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            file = Path(parent, name)
            if name.startswith(".") or not file.is_file():
                continue
            if file.stat().st_size > MAX_FILE_BYTES:
                raise FilesError(f"RAMI_EDGE_STATIC_FOLDER: {file} has more than {MAX_FILE_BYTES >> 20} MiB")
            path = "/" + quote(file.relative_to(folder).as_posix())
            routes.append(_route(path, file))
            if name == INDEX:
                routes.append(_route(path.removesuffix(INDEX), file))
        if len(routes) > MAX_FILES:
            raise FilesError(f"RAMI_EDGE_STATIC_FOLDER: more than {MAX_FILES} files")
    return routes


def _route(path: str, file: Path) -> dict[str, Any]:
    headers = {
        "content-type": _content_type(file),
        "cache-control": "no-cache",
        "x-content-type-options": "nosniff",
        "referrer-policy": "no-referrer",
    }
    return {
        "match": {
            "path": path,
            "headers": [{"name": ":method", "string_match": {"safe_regex": {"regex": "GET|HEAD"}}}],
        },
        "direct_response": {"status": 200, "body": {"filename": str(file)}},
        "response_headers_to_add": [
            {"header": {"key": key, "value": value}, "append_action": "OVERWRITE_IF_EXISTS_OR_ADD"}
            for key, value in headers.items()
        ],
    }


def _content_type(file: Path) -> str:
    kind = _TYPES.get(file.suffix) or mimetypes.guess_type(file.name)[0] or "application/octet-stream"
    return f"{kind}; charset=utf-8" if kind.startswith(_TEXTS) else kind
