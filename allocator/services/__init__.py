"""One use case a file: keyword-only, `now` passed in. Files that start with an underscore are shared parts."""
