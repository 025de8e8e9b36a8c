import unittest

from intervals import merge


class Merge(unittest.TestCase):
    def test_apart(self):
        self.assertEqual(merge([(7, 9), (1, 3)]), [(1, 3), (7, 9)])

    def test_touching(self):
        self.assertEqual(merge([(1, 3), (4, 6)]), [(1, 6)])


if __name__ == "__main__":
    unittest.main()
