"""Pure rules of the queue: who is next, what a tree of quotas leaves, how use is forgotten. No I/O, no clock."""
