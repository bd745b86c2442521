"""rami.store: generated from protos/ (grpcio-tools 1.85.1)."""
