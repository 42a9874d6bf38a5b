"""Tables, charts and HTML pages, independent of what they show."""
