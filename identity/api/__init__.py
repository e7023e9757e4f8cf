"""Doors of the room."""
