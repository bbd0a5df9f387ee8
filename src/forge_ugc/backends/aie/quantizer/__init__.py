"""From a program of real numbers to one of 8-bit integers."""
