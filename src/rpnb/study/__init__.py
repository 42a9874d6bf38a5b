"""The paper's evaluation: a plan, its runs, their records, and tables of records."""
