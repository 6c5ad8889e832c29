import unittest

UNITS = {"B": 1, "KB": 1000, "MB": 1000000}


def size(text):
    number, unit = text.split()
    return int(number) * UNITS[unit]


class Sizes(unittest.TestCase):
    def test_bytes(self):
        self.assertEqual(size("17 B"), 17)

    def test_kilobytes(self):
        self.assertEqual(size(" 3  KB "), 3000)

    def test_no_number(self):
        self.assertRaises(ValueError, size, "x MB")

    def test_no_unit(self):
        self.assertRaises(ValueError, size, "3")


if __name__ == "__main__":
    unittest.main()
