"""``python -m config.demo``: the main job of the product, end to end, over REST and `vxpu run` only."""
