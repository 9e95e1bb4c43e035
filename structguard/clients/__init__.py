"""Faces for other people's code: a wrapped SDK client, a guarded function, a transport."""
