"""rami_bots."""
