"""Pure renderings of an invoice: each figure the same in every format."""
