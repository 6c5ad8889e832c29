"""Lists that Python makes, and lists that it reads, item by item."""

import asyncio
import threading

import pytest

import fifth


def test_a_stream_gives_items_while_the_call_goes_on(session):
    put = session.sender()
    got = session.stream("squares", put)
    put.send(3)
    assert next(got) == 9
    put.send(4)
    assert next(got) == 16
    put.close()
    assert list(got) == [] and list(got) == []
    assert session.call("fib", 10) == 55


def test_a_million_items_come_and_go(session):
    assert sum(session.stream("upto", 1_000_000)) == 500_000_500_000
    with session.sender() as put:
        call = session.begin("sum", put)
        put.send_all(range(1_000_000))
    assert call.wait(None, False) == [499_999_500_000]


def test_what_a_stream_does_wrong_is_raised_behind_its_items(session):
    put = session.sender()
    got = session.stream("squares", put)
    put.send_all([1, 2, fifth.Atom("x")])
    assert next(got) == 1 and next(got) == 4
    with pytest.raises(fifth.Failure):
        next(got)
        next(got)
    # Nobody reads that list any more.
    put.send(4)
    session.close()
    with pytest.raises(BrokenPipeError):
        put.send(5)


def test_items_that_nobody_reads_count_for_the_heap_limit(program):
    with program.session(workers=1, heap_limit=32 << 20) as session:
        got = session.stream("upto", 10**9)
        assert next(got) == 1
        with pytest.raises(fifth.HeapLimit):
            fifth._results(got._call.wait(None, False))


def test_a_stream_that_nobody_reads_on_is_ended(session):
    with session.stream("upto", 10**9) as got:
        assert next(got) == 1
    assert session.call("same", 1) == 1


def test_a_list_is_given_to_one_call(session):
    put = session.sender()
    put.close()
    assert session.call("sum", put) == 0
    with pytest.raises(TypeError, match="before"):
        session.call("sum", put)


def test_a_sender_waits_for_a_reader_that_is_behind(session):
    put = session.sender()
    call = session.begin("endless", put, out=0)
    sent = []

    def send():
        try:
            for item in range(10_000_000):
                put.send(item)
                sent.append(item)
        except BrokenPipeError:
            pass

    sender = threading.Thread(target=send)
    sender.start()
    assert session.waiting() == []
    session.interrupt()
    call.wait(None, False)
    session.close()
    sender.join()
    assert len(sent) < 10_000_000


def test_a_deadlock_is_one_only_when_the_list_has_ended(session):
    put = session.sender()
    got = session.stream("main:never", put, 1)
    put.close()
    with pytest.raises(fifth.Failure):
        next(got)


def test_asyncio_reads_streams(session):
    async def read():
        return [item async for item in session.stream("upto", 1000)]

    assert asyncio.run(read()) == list(range(1, 1001))
