"""Reads. get_x gives exactly one or raises; find_x maybe None; list_x many, in a stated order."""
