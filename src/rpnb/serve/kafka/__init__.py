"""Rows and labels from Kafka topics, each learned exactly once."""
