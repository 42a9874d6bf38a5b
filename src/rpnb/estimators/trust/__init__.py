"""What makes predictions trustworthy: probabilities, sets, reasons, unlearning."""
