"""Tasks as data: what a file says of one, the messages of its prompts, and their templates."""
