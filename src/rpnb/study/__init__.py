"""The paper's evaluation: plans, runs, their records, and tables of the records."""
