"""Thin callbacks, one module a page; server.create_app registers them."""
