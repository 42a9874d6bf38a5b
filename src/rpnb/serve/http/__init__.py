"""What comes in and goes out over HTTP: formats, limits, tokens, description."""
