"""Migration: score of a learning curve, categories, the planner's round, its policies and the life of one migration.

Pure: events go in, events and actions come out; no clock, thread, socket or random source.
"""
