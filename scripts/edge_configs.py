"""Writes the configurations of deploy/envoy: what `rami edge --print-config` says with the defaults, and with TLS.

python scripts/edge_configs.py
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from rami_cli.edge_config import edge_config
from rami_cli.edge_settings import EdgeSettings

FOLDER = Path(__file__).parents[1] / "deploy" / "envoy"


def configs() -> dict[str, dict[str, Any]]:
    """Each file and what is in it, whatever the environment says."""
    plain = EdgeSettings.model_construct()
    tls = plain.model_copy(update={"tls_cert_file": "/etc/rami/tls/tls.crt", "tls_key_file": "/etc/rami/tls/tls.key"})
    return {"envoy.json": edge_config(plain), "envoy-tls.json": edge_config(tls)}


def main() -> None:
    """Writes all of them."""
    for name, config in configs().items():
        (FOLDER / name).write_text(json.dumps(config, indent=2) + "\n")


if __name__ == "__main__":
    main()
