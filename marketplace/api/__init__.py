"""REST doors of the shop."""
