"""Tables, figures, references and a checklist for a paper: rows of results in, text or a picture out."""
