"""`podshift train`: a small training job that is real, and ends the same however often it is stopped and moved.

A program has to set `reproducible.settings` before it imports numpy, which reads them once, and so before any module of
here but `reproducible` and `stopping`.
"""
