"""The index that grows: items in, "have I seen this before?" answered, on disk, beside other readers."""
