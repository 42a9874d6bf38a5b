"""The members of the pooled classifier, one module each."""
