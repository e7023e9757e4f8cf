"""One file per noun of the command line; each command is one call of the client and one line of output code."""
