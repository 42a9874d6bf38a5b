"""Test-then-train passes over blocks of rows, and the choice between them."""
