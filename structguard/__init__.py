"""Resilient structured outputs for any language-model endpoint."""
