//! What every order of events leads to (`cargo xtask loom`). Nobody wakes for no reason here, and no sleep has a limit:
//! a wake-up that is lost leaves all threads asleep, which loom reports.

use super::*;
use loom::model::Builder;
use loom::sync::Arc;

/// Runs `model` in all orders with at most `preemptions` preemptions.
fn check(preemptions: usize, model: impl Fn() + Sync + Send + 'static) {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(model);
}

/// What others tell a node.
enum Letter {
    /// What its program waits for.
    Answer,
    /// Its sender waits for a reply.
    Question,
}

/// What a node and its senders share.
#[derive(Default)]
struct Post {
    letters: Mutex<Vec<Letter>>,
    replied: Mutex<bool>,
    reply: Condvar,
    /// Whether senders wake the sleeper.
    listens: Mutex<bool>,
    /// The sleeper is to wake: what a thread keeps that is unparked. (Loom's own threads forget what they wait for when
    /// they are unparked.)
    woken: Mutex<bool>,
    wakes: Condvar,
}

#[derive(Clone)]
struct Chime(Arc<Post>);

impl Chime {
    fn send(&self, letter: Letter) {
        self.0.letters.lock().unwrap().push(letter);
        self.ring();
    }
    fn await_reply(&self) {
        let mut replied = self.0.replied.lock().unwrap();
        while !*replied {
            replied = self.0.reply.wait(replied).unwrap();
        }
    }
}

impl Bell for Chime {
    type Rest = ();
    fn adopt(&self) {}
    fn hush(&self) {
        *self.0.listens.lock().unwrap() = false;
    }
    fn ring(&self) {
        if std::mem::take(&mut *self.0.listens.lock().unwrap()) {
            *self.0.woken.lock().unwrap() = true;
            self.0.wakes.notify_one();
        }
    }
    fn sleep(&self, (): (), _: Duration) {
        let mut woken = self.0.woken.lock().unwrap();
        while !std::mem::take(&mut *woken) {
            woken = self.0.wakes.wait(woken).unwrap();
        }
    }
    fn fail(&self, _: String) {}
    fn failure(&self) -> Option<fabric::Failed> {
        None
    }
}

/// A node whose program waits for an answer.
struct Desk {
    post: Chime,
    answered: bool,
    left: bool,
}

impl Wheel for Desk {
    type Bell = Chime;
    fn step(&mut self) -> Step {
        let letters = std::mem::take(&mut *self.post.0.letters.lock().unwrap());
        if letters.is_empty() {
            return if self.left { Step::Done } else { Step::Wait(None) };
        }
        for letter in letters {
            match letter {
                Letter::Answer => self.answered = true,
                Letter::Question => {
                    *self.post.0.replied.lock().unwrap() = true;
                    self.post.0.reply.notify_all();
                }
            }
        }
        Step::Again
    }
    fn lie_down(&mut self) -> Option<()> {
        *self.post.0.listens.lock().unwrap() = true;
        self.post.0.letters.lock().unwrap().is_empty().then_some(())
    }
    fn may_spin(&self) -> bool {
        false
    }
    fn limit(&self, _: Step) -> Option<Duration> {
        None
    }
}

/// A node with its service thread, a program, and another node.
fn node(program: fn(&Turns<Desk>), other: fn(&Chime)) {
    let chime = Chime(Arc::default());
    let desk = Desk { post: chime.clone(), answered: false, left: false };
    let turns = Arc::new(Turns::new(desk, chime.clone()));
    let serves = turns.clone();
    let service = thread::spawn(move || serves.serve());
    let other = thread::spawn(move || other(&chime));
    program(&turns);
    other.join().expect("the other does not panic");
    // As a program's end does.
    turns.with(|desk| desk.left = true);
    turns.bell().ring();
    service.join().expect("the service does not panic");
}

fn await_answer(turns: &Turns<Desk>) {
    let answered = turns.drive(|_| (), |desk| desk.answered.then_some(()));
    assert_eq!(answered, Some(()));
}

#[test]
fn an_answer_reaches_the_program() {
    check(3, || node(await_answer, |chime| chime.send(Letter::Answer)));
}

#[test]
fn a_question_is_answered_while_the_program_computes() {
    check(3, || {
        node(
            |_| (),
            |chime| {
                chime.send(Letter::Question);
                chime.await_reply();
            },
        );
    });
}

#[test]
fn a_question_is_answered_while_the_program_drives_or_after_it() {
    check(2, || {
        node(await_answer, |chime| {
            chime.send(Letter::Answer);
            chime.send(Letter::Question);
            chime.await_reply();
        });
    });
}

#[test]
fn the_program_waits_behind_the_service() {
    check(2, || {
        node(await_answer, |chime| {
            chime.send(Letter::Question);
            chime.await_reply();
            chime.send(Letter::Answer);
        });
    });
}
