"""`podium demo`: a whole fleet for a minute, watched live, and its answers checked at the end."""
