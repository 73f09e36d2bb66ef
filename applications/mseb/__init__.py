"""The super tasks of MSEB on resynthesised sound: a table of tasks, their kinds, and pure scoring."""
