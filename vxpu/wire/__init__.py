"""The wire between server, agent and command line: versioned, frozen messages.

Strict where we accept, lenient where we read a newer peer: see `Strict` and `Lenient`.
"""

WIRE_VERSION = 1
