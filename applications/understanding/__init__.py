"""Does a model still understand the sound? Tasks as data: prompts, answers of chats, how they are read and measured."""
