"""The listings of docs/python.md, and of the package's own documentation, run as they stand."""

import doctest
import pathlib
import re

import fifth


def test_the_listings_of_the_guide_run():
    guide = pathlib.Path(__file__).parents[2] / "docs" / "python.md"
    listings = re.findall(r"```python\n(.*?)```", guide.read_text(), re.DOTALL)
    assert len(listings) >= 4
    names = {}
    for listing in listings:
        exec(compile(listing, str(guide), "exec"), names)


def test_the_examples_of_the_package_run():
    results = doctest.testmod(fifth)
    assert results.attempted >= 3 and results.failed == 0
