"""Columns of tables that are no numbers: categories, words and dates as features."""
