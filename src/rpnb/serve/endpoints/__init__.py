"""Endpoints of the service: models, rows, challengers, operation and the page."""
