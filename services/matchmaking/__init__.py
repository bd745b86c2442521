"""The matchmaking service: players queue, tables are made of them, and finished matches become ratings."""
