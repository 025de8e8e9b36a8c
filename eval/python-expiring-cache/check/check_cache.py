import unittest

from cache import Cache


class Check(unittest.TestCase):
    def setUp(self):
        self.now = 100.0
        self.cache = Cache(2, 10, lambda: self.now)

    def test_limit(self):
        self.assertRaises(ValueError, Cache, 0, 10, lambda: 0)

    def test_age(self):
        self.cache.put("a", 1)
        self.now += 10
        self.assertEqual(self.cache.get("a"), 1)
        self.now += 0.5
        self.assertEqual(self.cache.get("a", "none"), "none")
        self.assertEqual(len(self.cache), 0)

    def test_get_keeps_the_age(self):
        self.cache.put("a", 1)
        self.now += 6
        self.cache.get("a")
        self.now += 6
        self.assertIsNone(self.cache.get("a"))

    def test_replaced_is_young(self):
        self.cache.put("a", 1)
        self.now += 6
        self.cache.put("a", 2)
        self.now += 6
        self.assertEqual((self.cache.get("a"), len(self.cache)), (2, 1))

    def test_least_used_goes(self):
        self.cache.put("a", 1)
        self.cache.put("b", 2)
        self.cache.get("a")
        self.cache.put("c", 3)
        self.assertEqual([self.cache.get(key) for key in "abc"], [1, None, 3])

    def test_old_goes_before_least_used(self):
        self.cache.put("old", 1)
        self.now += 8
        self.cache.put("young", 2)
        self.cache.get("old")
        self.now += 4
        self.cache.put("new", 3)
        self.assertEqual([self.cache.get(key) for key in ("old", "young", "new")], [None, 2, 3])

    def test_none_is_a_value(self):
        self.cache.put("a", None)
        self.assertIsNone(self.cache.get("a", "none"))
