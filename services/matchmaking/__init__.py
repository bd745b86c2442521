"""matchmaking."""
