"""The second stage: signal metrics of each resynthesis against its reference."""
