"""Foreign predicates: libraries in C."""

import pathlib
import shutil
import subprocess

import pytest

import fifth

INCLUDE = pathlib.Path(__file__).parents[2] / "crates" / "fifth_c" / "include"
LIBRARY = """
#include "fifth_foreign.h"
static int gcd(fifth_args *args) {
    int64_t a, b;
    if (fifth_arg_integer(args, 0, &a) || fifth_arg_integer(args, 1, &b)) return FIFTH_ERROR;
    while (b) { int64_t c = a % b; a = b, b = c; }
    return fifth_set_integer(args, 2, a);
}
FIFTH_LIBRARY("numbers", 0, {"gcd", "iio", gcd})
"""
TEXT = ":- module main. gcd(A, B, C) :- true | numbers:gcd(A, B, C)."


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
def test_a_program_has_libraries(tmp_path):
    source, library = tmp_path / "numbers.c", tmp_path / "libnumbers.so"
    source.write_text(LIBRARY)
    subprocess.run(["cc", "-shared", "-fPIC", "-I", INCLUDE, source, "-o", library], check=True)
    program = fifth.Program(text=TEXT, libraries=[library])
    assert program.gcd(12, 18) == 6
    with pytest.raises(fifth.Failure, match="argument 2 must be an integer of 64 bits, not the atom a") as failed:
        program.gcd(1, fifth.Atom("a"))
    assert failed.value.goal.startswith("numbers:gcd(1,a,")
    with program.session(workers=3) as session:
        session.define(":- module more. gcd(A, R) :- true | numbers:gcd(A, 10, R).")
        assert session.call("more:gcd", 25) == 5
    with pytest.raises(OSError, match="both have the module numbers"):
        fifth.Program(text=TEXT, libraries=[library, library])


def test_what_is_no_library_is_refused():
    with pytest.raises(OSError, match="cannot load nowhere.so"):
        fifth.Program(text=TEXT, libraries=["nowhere.so"])
    with pytest.raises(fifth.CompileError, match="there is no module numbers"):
        fifth.Program(text=TEXT)
