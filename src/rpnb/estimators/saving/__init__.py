"""Writing estimators to files and reading them again."""
