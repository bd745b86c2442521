"""game_state."""
