"""What a model still understands of resynthesised sound: the page of tasks, and the published boards of models."""
