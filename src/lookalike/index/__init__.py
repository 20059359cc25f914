"""A persistent, growing index that answers near-duplicate queries while other processes read it."""
