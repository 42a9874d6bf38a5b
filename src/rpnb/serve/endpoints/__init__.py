"""The endpoints of the service, by subject: models, rows, operation and the page."""
