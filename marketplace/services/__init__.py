"""Use cases, one a file: keyword-only, `now` passed in."""
