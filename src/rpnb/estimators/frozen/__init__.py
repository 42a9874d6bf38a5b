"""Models that only predict: arrays, and the graph for ONNX."""
