"""Skippy, the scheduler for edge clouds: its filters and scores over the node table, its sets and its walk.

Source: Rausch, Rashed, Dustdar: Optimized container scheduling for data-intensive serverless edge computing (FGCS
2021), and the heterogeneous edge evaluation of Raith (2021). Where the published program is wrong, the right thing is
done; docs/skippy.md lists these places. Papers of that time say predicate for filter and priority for score.
"""
