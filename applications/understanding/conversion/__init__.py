"""Reads the task registry of UltraEval-Audio into task and prompt files of this program."""
