"""Evidence for the pooled classifier: errors and times beside other learners."""
