"""Encoders over colour batches."""
