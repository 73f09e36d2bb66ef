"""Sound made elsewhere: references go out as WAV, resyntheses come in and become a run like any other."""
