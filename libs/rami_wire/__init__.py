"""rami_wire."""
