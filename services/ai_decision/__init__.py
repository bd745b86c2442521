"""ai_decision."""
