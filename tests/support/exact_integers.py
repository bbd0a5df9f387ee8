"""The definitions of docs/aie.md once more, a number at a time, in Python's own integers."""

from fractions import Fraction
from math import prod


def clip(value, lo=-128, hi=127):
    return max(lo, min(hi, value))


def requantized(acc, multiplier, shift, lo=-128, hi=127):
    return clip(round(Fraction(acc * multiplier, 1 << shift)), lo, hi)


def exponential(d, multiplier, shift, extra=0):
    t = min(round(Fraction(d * multiplier, 1 << shift)), 65535)
    z = min(round(Fraction(t * 8452, 1 << 25)), 15)
    f = t - 3970 * z
    p = round(Fraction((f - 5894) ** 2 + 31845340, 1 << 12))
    return round(Fraction(p, 1 << (z + extra)))


def softmaxed(row, e, bits):
    largest, k = (1 << bits) - 1, {7: 21, 8: 20}[bits]
    values = [e(max(row) - x) for x in row]
    r = (largest << k) // sum(values)
    return [min(round(Fraction(value * r, 1 << k)), largest) for value in values]


def attended(q, k, v, score, context, weight=None):
    """One head: lists of rows, factors as (multiplier, shift); without `weight` no softmax."""
    out = []
    for row in q:
        s = [requantized(dot(row, key), *score) for key in k]
        if weight is None:
            out.append([requantized(dot(s, column), *context) for column in zip(*v, strict=True)])
            continue
        g = [weight(max(s) - x) for x in s]
        r = context[0] // sum(g)
        out.append([requantized(dot(g, c) * r, 1, context[1]) for c in zip(*v, strict=True)])
    return out


def dot(a, b):
    return sum(map(prod, zip(a, b, strict=True)))
