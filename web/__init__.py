"""Pages and charts: Jinja templates, static files, Plotly figure builders (pure: rows in, figure out)."""
