"""What a codec's tokens carry: phones, speakers and pitch, by codebook."""
