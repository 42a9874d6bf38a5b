"""The HTTP layer: formats, limits, access checks, OpenAPI description."""
