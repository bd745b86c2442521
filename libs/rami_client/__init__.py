"""rami_client."""
