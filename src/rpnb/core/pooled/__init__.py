"""The pooled classifier: members of one family, and the pool that weighs them."""
