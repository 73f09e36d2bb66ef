"""Results that somebody else published and a maintainer imported: of encoders, of models that hear and answer."""
