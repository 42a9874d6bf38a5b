"""The pass that predicts from single-precision scores with error bounds."""
