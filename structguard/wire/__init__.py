"""Neutral values ↔ each vendor's JSON: pure, one module a wire, independent of one another."""
