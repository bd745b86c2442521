"""The AI service: decides for bots, in worker processes, from what their seats see."""
