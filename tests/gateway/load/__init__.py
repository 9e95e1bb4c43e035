"""The gateway under load: an upstream that echoes markers, clients that look for their own, the sum."""
