"""The members of the pooled classifier, a file each."""
