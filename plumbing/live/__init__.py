"""What happens, as it happens: rooms publish to feeds, sockets' processes carry them to whoever watches a topic.

Domain-blind. `publish.py` is for the rooms' services, `topics.py` for their `live` modules; the rest runs the sockets.
"""
