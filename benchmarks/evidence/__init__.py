"""Evidence for the pooled classifier: errors and times compared with other learners."""
