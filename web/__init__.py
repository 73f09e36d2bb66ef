"""Pages and charts: Jinja templates, static files, and Plotly figure builders, pure functions of typed rows."""
