"""Layouts of the pages: functions of a state and what the source answered."""
