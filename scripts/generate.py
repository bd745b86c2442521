"""Generates the Python code of the contract: protos/ -> libs/rami/.

Owns the one command line of protoc and the package files between the generated modules. Running it twice
changes nothing; CI runs it and expects a clean tree.
"""

from __future__ import annotations

import os
import shutil
import sys
from importlib.metadata import version
from pathlib import Path

import google.rpc
from grpc_tools import protoc

ROOT = Path(__file__).resolve().parent.parent
PROTOS = ROOT / "protos"
OUT = ROOT / "libs"
# The well-known google.rpc messages come with googleapis-common-protos, the others with grpcio-tools.
COMMON_PROTOS = Path(next(iter(google.rpc.__path__))).parent.parent
WELL_KNOWN_PROTOS = Path(protoc.__file__).parent / "_proto"


def generate() -> None:
    """Regenerates every module; exits with protoc's code when it refuses a file."""
    # protoc looks its plugins up on PATH; they live beside the interpreter that runs this.
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    files = sorted(str(path.relative_to(PROTOS)) for path in PROTOS.rglob("*.proto"))
    shutil.rmtree(OUT / "rami", ignore_errors=True)
    code = protoc.main(
        [
            "protoc",
            f"-I{PROTOS}",
            f"-I{COMMON_PROTOS}",
            f"-I{WELL_KNOWN_PROTOS}",
            f"--python_out={OUT}",
            f"--grpc_python_out={OUT}",
            f"--mypy_out={OUT}",
            f"--mypy_grpc_out={OUT}",
            *files,
        ]
    )
    if code != 0:
        sys.exit(code)
    for folder in [OUT / "rami", *(path for path in (OUT / "rami").rglob("*") if path.is_dir())]:
        package = ".".join(folder.relative_to(OUT).parts)
        text = f'"""{package}: generated from protos/ (grpcio-tools {version("grpcio-tools")})."""\n'
        (folder / "__init__.py").write_text(text)
    (OUT / "rami" / "py.typed").touch()


def export_common_protos(target: Path) -> None:
    """Puts google.rpc's protos under `target`, for a linter that wants every import as a file."""
    for name in ("status", "error_details"):
        source = COMMON_PROTOS / "google" / "rpc" / f"{name}.proto"
        destination = target / "google" / "rpc" / source.name
        destination.parent.mkdir(parents=True, exist_ok=True)
        # Another command may be reading: it finds the old file or the new one, and never half of one.
        made = destination.with_name(f"{source.name}.{os.getpid()}")
        shutil.copyfile(source, made)
        made.replace(destination)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--export-common"]:
        export_common_protos(Path(sys.argv[2]))
    else:
        generate()
