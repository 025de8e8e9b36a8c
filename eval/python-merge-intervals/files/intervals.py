"""Closed intervals of whole numbers, as pairs (first, last)."""


def merge(intervals):
    """Return the intervals in order, with those that overlap or touch as one.

    (1, 3) and (4, 6) touch, because no whole number is between them.
    """
    merged = []
    intervals.sort()
    for first, last in intervals:
        if merged and first <= merged[-1][1]:
            merged[-1] = (merged[-1][0], last)
        else:
            merged.append((first, last))
    return merged
