import random
import unittest

from intervals import merge


class Check(unittest.TestCase):
    def test_one_inside_another(self):
        self.assertEqual(merge([(1, 10), (2, 3)]), [(1, 10)])

    def test_nothing(self):
        self.assertEqual(merge([]), [])

    def test_the_argument_stays(self):
        given = [(5, 6), (1, 2)]
        merge(given)
        self.assertEqual(given, [(5, 6), (1, 2)])

    def test_random_intervals_cover_the_same_numbers(self):
        draw = random.Random(1)
        for _ in range(500):
            firsts = [draw.randint(0, 40) for _ in range(draw.randint(0, 8))]
            given = [(first, first + draw.randint(0, 9)) for first in firsts]
            merged = merge(list(given))
            numbers = lambda pairs: {n for first, last in pairs for n in range(first, last + 1)}
            self.assertEqual(numbers(given), numbers(merged), given)
            gaps = [after[0] - before[1] for before, after in zip(merged, merged[1:])]
            self.assertTrue(all(gap > 1 for gap in gaps), (given, merged))
