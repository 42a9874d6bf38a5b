"""The scripts are run as users run them, by tests/test_gallery.py, not imported."""

collect_ignore_glob = ["*.py"]
