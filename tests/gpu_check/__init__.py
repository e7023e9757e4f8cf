"""One script for a machine with a card: what only a real driver can show, in ten minutes, without changing a setting."""
