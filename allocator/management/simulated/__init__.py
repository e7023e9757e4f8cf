"""Machines that do not exist, played through the same services as real ones; everything about them says "simulated"."""
