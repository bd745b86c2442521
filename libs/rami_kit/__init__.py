"""rami_kit."""
