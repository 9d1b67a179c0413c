"""Readers and writers of files that other tools leave; every import becomes an ordinary event log."""
