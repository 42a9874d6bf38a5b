"""Rows and labels from topics of Kafka, each learned exactly once."""
