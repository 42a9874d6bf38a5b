"""The pass that predicts from one quadratic form per class."""
