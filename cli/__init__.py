"""The `vxpu` command and its REST client. Imports the vocabulary only; starts without Django and without a network."""
