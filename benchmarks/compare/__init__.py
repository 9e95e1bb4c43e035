"""Eight clients against twelve endpoints, with and without structguard: docs/compare.md."""
