"""Folds over a log: every table, view and metric is made here, from events alone."""
