"""One use case a file: keyword-only, `now` passed in."""
