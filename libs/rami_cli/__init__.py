"""rami_cli."""
