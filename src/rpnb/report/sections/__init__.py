"""Sections of the report of a run, each with the chart it shows."""
