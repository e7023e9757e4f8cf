"""Pure money: arguments in, value out. No clock, no database, no framework."""
