"""Experiments: the specification, building and running its arms, and comparing what came of them."""
