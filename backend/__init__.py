"""Podshift's service: the model, the policies, the simulator, the store and the HTTP API."""
