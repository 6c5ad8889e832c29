//! What every order of events leads to (`cargo xtask loom`).
//!
//! Loom does not let a load happen after a store that follows it, so it cannot tell whether the order of
//! `Reader::read`'s last store matters.

use super::*;
use loom::model::Builder;

/// Runs `model` in all orders with at most `preemptions` preemptions.
fn check(preemptions: usize, model: impl Fn() + Sync + Send + 'static) {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(model);
}

/// Messages of five words in a lane of sixteen: the fourth takes the place of the first, across the end of the ring.
#[test]
fn a_lane_gives_what_was_written_in_order_and_back_what_it_has_no_room_for() {
    check(4, || {
        const MESSAGES: u64 = 4;
        let (mut writer, mut reader) = lane(16);
        let sender = thread::spawn(move || {
            let mut number = 0;
            while number < MESSAGES {
                let mut message = Message::new(Priority::Low, &[number; 4]);
                if number.is_multiple_of(2) {
                    message.payload = vec![number as u8];
                }
                match writer.write(message) {
                    Ok(()) => number += 1,
                    Err(_) => thread::yield_now(),
                }
                if number != 1 {
                    writer.publish();
                }
            }
        });
        let mut number = 0;
        while number < MESSAGES {
            let Some(message) = reader.read(NodeId(9), Priority::Low) else {
                thread::yield_now();
                continue;
            };
            assert_eq!((message.from, message.words()), (NodeId(9), &[number; 4][..]));
            let payload = if number.is_multiple_of(2) { vec![number as u8] } else { Vec::new() };
            assert_eq!(message.payload, payload);
            number += 1;
        }
        sender.join().expect("the sender does not panic");
        assert!(!reader.has_message());
    });
}

/// The first message on a lane makes the lane; whoever sleeps must learn of both.
#[test]
fn a_message_wakes_a_node_that_goes_to_sleep() {
    check(3, || {
        let hub = Arc::new(Hub::new(2, Processors::Few));
        let mut sleeper = Threads::new(hub.clone(), NodeId(0));
        let sender = thread::spawn(move || {
            let mut sender = Threads::new(hub, NodeId(1));
            for word in 0..2 {
                sender.send(NodeId(0), Message::new(Priority::Low, &[word])).expect("room for two");
                sender.publish();
            }
        });
        for word in 0..2 {
            sleeper.wait(None);
            assert_eq!(sleeper.poll().expect("it has waited for it").words(), [word]);
        }
        sender.join().expect("the sender does not panic");
    });
}

#[test]
fn two_senders_wake_one_sleeper() {
    check(2, || {
        let hub = Arc::new(Hub::new(3, Processors::Few));
        let mut sleeper = Threads::new(hub.clone(), NodeId(0));
        let senders = [1, 2].map(|id| {
            let hub = hub.clone();
            thread::spawn(move || {
                let mut sender = Threads::new(hub, NodeId(id));
                let priority = if id == 1 { Priority::Low } else { Priority::High };
                sender.send(NodeId(0), Message::new(priority, &[id.into()])).expect("room for one");
                sender.publish();
            })
        });
        let mut sum = 0;
        for _ in 0..2 {
            sleeper.wait(None);
            sum += sleeper.poll().expect("it has waited for it").words()[0];
        }
        assert_eq!(sum, 3);
        for sender in senders {
            sender.join().expect("no sender panics");
        }
    });
}

#[test]
fn two_nodes_wake_each_other() {
    check(3, || {
        let hub = Arc::new(Hub::new(2, Processors::Few));
        let other = hub.clone();
        let echo = thread::spawn(move || {
            let mut echo = Threads::new(other, NodeId(1));
            echo.wait(None);
            let message = echo.poll().expect("it has waited for it");
            echo.send(message.from, message).expect("room for one");
            echo.publish();
        });
        let mut first = Threads::new(hub, NodeId(0));
        first.send(NodeId(1), Message::new(Priority::High, &[5])).expect("room for one");
        first.publish();
        first.wait(None);
        assert_eq!(first.poll().expect("it has waited for it").words(), [5]);
        echo.join().expect("the other does not panic");
    });
}

#[test]
fn the_last_at_a_barrier_wakes_who_sleeps() {
    check(3, || {
        let meet = |mut node: Threads| {
            for number in 1..=2 {
                node.arrive();
                while !node.all_arrived() {
                    node.wait(None);
                }
                assert!(node.hub.come.load(Ordering::Relaxed) >= 2 * number, "all have come to it");
            }
        };
        let hub = Arc::new(Hub::new(2, Processors::Few));
        let other = hub.clone();
        let other = thread::spawn(move || meet(Threads::new(other, NodeId(1))));
        meet(Threads::new(hub, NodeId(0)));
        other.join().expect("the other does not panic");
    });
}

#[test]
fn a_failure_wakes_who_sleeps() {
    check(4, || {
        let hub = Arc::new(Hub::new(2, Processors::Few));
        let mut sleeper = Threads::new(hub.clone(), NodeId(0));
        let failing = thread::spawn(move || {
            hub.fail(Failed { node: NodeId(1), reason: "it fails".into() });
        });
        sleeper.wait(None);
        assert!(sleeper.hub.has_failed() && sleeper.poll().is_none());
        failing.join().expect("the other does not panic");
    });
}
