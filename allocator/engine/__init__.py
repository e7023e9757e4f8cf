"""The pure engine: arguments in, value out. No clock, no random, no I/O.

Instants are integer microseconds since the epoch, periods half-open, `FOREVER` is the end of an open-ended one.
"""
