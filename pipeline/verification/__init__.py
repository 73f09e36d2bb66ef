"""Run clips of a submission again, compare what comes out with what was submitted, and sign the outcome."""
