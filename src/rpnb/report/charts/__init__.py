"""Charts as lists of marks, drawn as SVG or PNG."""
