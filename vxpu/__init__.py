"""The vocabulary of vXPU Market: words that both sides of a wire or an engine need. Pure Python and pydantic."""
