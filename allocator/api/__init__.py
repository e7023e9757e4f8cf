"""Doors for people (REST) and for agents (HTTP)."""
