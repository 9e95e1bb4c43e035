"""Layers of the call path, each `Complete -> Complete`: degrade, breaker, fallback."""
