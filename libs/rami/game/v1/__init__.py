"""rami.game.v1: generated from protos/ (grpcio-tools 1.85.1)."""
