"""All faces under load with faults on: nothing lost, nothing doubled, memory flat. docs/scaling.md."""
