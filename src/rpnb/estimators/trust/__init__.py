"""Calibrated probabilities, prediction sets, explanations and unlearning."""
