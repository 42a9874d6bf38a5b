"""Random projections: drawing the matrices, and applying them to rows."""
