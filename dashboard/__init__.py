"""Podshift's web dashboard; it reaches the backend over HTTP only."""
