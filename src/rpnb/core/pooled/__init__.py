"""The pooled classifier: its members, and the pool that combines them."""
