"""Readers, writers and result folders: `read`, `write`, `results`, and what they are made of."""
