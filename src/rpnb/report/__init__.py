"""Tables, charts and HTML pages, independent of their content."""
