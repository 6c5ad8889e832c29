"""Arrays that KL1 and Python share."""

import gc
import multiprocessing

import pytest

import fifth

TEXT = """
:- module main.
made(N, A) :- true | array:new(A, N).
filled(L, A) :- true | array:new(A, L).
set(A, I, X, B) :- true | array:set_element(A, I, X, B).
get(A, I, X) :- true | array:element(A, I, X).
freed(A, R) :- true | array:free(A), R = done.
own(A) :- true | A = array(1, 2).
"""


@pytest.fixture(scope="module")
def arrays():
    return fifth.Program(text=TEXT)


def test_an_array_of_kl1_is_the_same_memory(arrays):
    array = arrays.filled([1.5, 2.5, 3.5])
    assert isinstance(array, fifth.SharedArray) and list(array) == [1.5, 2.5, 3.5]
    assert (len(array), array[0], array[-1]) == (3, 1.5, 3.5)
    array[1] = 7.0
    assert arrays.get(array, 1) == 7.0
    again = arrays.set(array, 2, 9.0)
    assert array[2] == 9.0 and again[2] == 9.0
    for index in (3, -4):
        with pytest.raises(IndexError):
            array[index]
        with pytest.raises(IndexError):
            array[index] = 1.0
    assert "3 floats" in repr(array)


def test_an_array_of_python_goes_into_kl1(arrays):
    array = fifth.shared_array(100)
    assert list(array) == [0.0] * 100
    array[99] = 2.0
    assert arrays.get(array, 99) == 2.0
    assert len(fifth.shared_array(0)) == 0
    with pytest.raises((MemoryError, OverflowError)):
        fifth.shared_array(1 << 50)
    # A term that looks like one and is none.
    assert arrays.own() == fifth.Term("array", 1, 2)


def place(array):
    """Where an array is: its address, and the array goes."""
    return array.__array_interface__["data"][0]


def test_what_python_has_is_not_used_again(arrays):
    array = arrays.filled([4.0] * 10)
    arrays.freed(array)
    others = [arrays.made(10) for _ in range(20)]
    for other in others:
        other[0] = 1.0
    assert array[0] == 4.0
    # What nobody has comes back.
    assert len({place(fifth.shared_array(1 << 16)) for _ in range(20)}) == 1


def test_arrays_end_with_their_session(arrays):
    places = set()
    for _ in range(20):
        with arrays.session(workers=1) as session:
            places.add(place(session.call("made", 3 << 16)))
    assert len(places) == 1
    with arrays.session(workers=1) as session:
        kept = session.call("filled", [1.0, 2.0])
    assert list(kept) == [1.0, 2.0]


def test_numpy_sees_it_without_a_copy(arrays):
    numpy = pytest.importorskip("numpy", reason="NumPy is not installed")
    array = arrays.made(1000)
    view = numpy.asarray(array)
    assert view.dtype == numpy.float64 and view.shape == (1000,)
    assert view.__array_interface__["data"][0] == array.__array_interface__["data"][0]
    view[:] = numpy.arange(1000.0)
    assert array[999] == 999.0 and arrays.get(array, 500) == 500.0
    arrays.set(array, 0, 5.0)
    assert view[0] == 5.0
    # The view keeps the memory.
    del array
    gc.collect()
    for _ in range(20):
        fifth.shared_array(1000)[1] = -1.0
    assert view[1] == 1.0 and view.sum() == 999 * 1000 / 2 + 5.0


def change(array, queue):
    array[0] = 42.0
    program = fifth.Program(text=TEXT)
    program.set(array, 1, 43.0)
    queue.put((array[0], array[1]))


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_another_process_has_the_same_memory(method):
    array = fifth.shared_array(10)
    context = multiprocessing.get_context(method)
    queue = context.Queue()
    child = context.Process(target=change, args=(array, queue))
    child.start()
    assert queue.get(timeout=120) == (42.0, 43.0)
    child.join(120)
    assert child.exitcode == 0 and (array[0], array[1]) == (42.0, 43.0)
