"""Models that only predict, and their export to ONNX."""
