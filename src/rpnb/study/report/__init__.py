"""The report of a study: one page that stands alone, and its tables and charts."""
