//! What a node sends: the protocol's messages as the machine's, and what is beside terms. The invariants are those of
//! `node`.

use crate::balance::{NAMES, Notice};
use crate::coherence::{Letter, Parcel, Receivers, Shared};
use crate::model::Meter;
use crate::node::trace::{Letters, Note, noted};
use crate::protocol::Post;
use crate::wire::message::{Message, TABLES};
use fabric::{Fabric, NodeId, Priority};
use machine::{Context, Spread, WORDS};

/// A message of the protocol.
pub(crate) const PROTOCOL: u32 = 0;
/// A [`Notice`]: what `balance` says.
pub(crate) const BALANCE: u32 = 4;
/// The first kind of what is beside.
pub(crate) const BESIDE: u32 = 6;

/// What sending needs.
pub(crate) struct Outgoing {
    /// J1: nodes that are to be woken.
    pub(crate) bells: Vec<NodeId>,
    /// Room for the words of a message.
    words: Vec<u64>,
    /// Notices that were sent, by kind.
    pub(crate) notices: [u64; NAMES.len()],
    /// Of a node that is traced.
    pub(crate) letters: Option<Letters>,
    /// J4; and bytes of the messages about terms that it keeps.
    pub(crate) beside: Shared,
    pub(crate) kept: u64,
}

/// What handles a message at its receiver, and in which priority it goes there.
type Address = (u32, Priority);

/// Sends words to what handles them there.
fn send<F: Fabric>(context: &mut Context<'_, F>, to: NodeId, (code, priority): Address, words: &[u64]) {
    if words.len() <= WORDS {
        return context.send(to, priority, code, words);
    }
    let mut payload = vec![0; 8 * words.len()];
    let (places, _) = payload.as_chunks_mut::<8>();
    places.iter_mut().zip(words).for_each(|(place, word)| *place = word.to_le_bytes());
    context.send_with(to, priority, code, &[], payload);
}

impl Outgoing {
    pub(crate) fn new(letters: Option<Letters>, beside: Shared) -> Outgoing {
        Outgoing { bells: Vec::new(), words: Vec::new(), notices: [0; NAMES.len()], letters, beside, kept: 0 }
    }
    /// J1: this node has a message.
    pub(crate) fn wake(&mut self, own: NodeId, to: NodeId) {
        if to != own && !self.bells.contains(&to) {
            self.bells.push(to);
        }
    }
    /// Sends `words`, or keeps them (J4).
    fn put<F: Fabric>(
        &mut self,
        context: &mut Context<'_, F>,
        to: NodeId,
        (code, priority): Address,
        shows: bool,
        sending: Note,
    ) {
        let Outgoing { words, beside, kept, .. } = &mut *self;
        if let Some(mut beside) = beside.get()
            && beside.must_keep(shows)
        {
            let letter = Letter { to, priority, code, words: words.clone() };
            *kept += letter.bytes();
            return noted(sending, || beside.keep(letter, shows));
        }
        noted(sending, || send(context, to, (code, priority), words));
        self.wake(context.node(), to);
    }
    /// Sends what is beside, and what that lets go (J4).
    pub(crate) fn send_beside<F: Fabric>(&mut self, context: &mut Context<'_, F>) {
        let shared = self.beside.clone();
        let own = context.node();
        while let Some(parcel) = shared.get().and_then(|mut beside| beside.next_parcel()) {
            let Parcel { to, kind, words, bytes } = parcel;
            assert!(kind < 1 << 16, "what is beside has kinds below 2^16, and {kind} is none");
            let code = BESIDE + kind;
            match to {
                Receivers::One(to, priority) => {
                    context.send_with(to, priority, code, &words, bytes);
                    self.wake(own, to);
                }
                Receivers::Many(to, number) => {
                    to.iter().for_each(|to| self.wake(own, to));
                    let (here, shared) = (context.here().clone(), shared.clone());
                    // To each: the sender knows all whom it has to wake.
                    context.here().spawn(async move {
                        here.multicast_by(Spread::Unicast, to, code, &words, bytes).await;
                        shared.get().into_iter().for_each(|mut beside| beside.acknowledged(number));
                    });
                }
            }
        }
        while let Some(letter) = shared.get().and_then(|mut beside| beside.next_letter()) {
            debug_assert!(self.kept >= letter.bytes(), "J4: a letter that was not counted");
            self.kept -= letter.bytes();
            send(context, letter.to, (letter.code, letter.priority), &letter.words);
            self.wake(own, letter.to);
        }
    }
}

/// Sends the protocol's messages.
pub(crate) struct Mail<'a, 'c, F: Fabric> {
    pub(crate) context: &'a mut Context<'c, F>,
    pub(crate) outgoing: &'a mut Outgoing,
    pub(crate) meter: Option<&'a mut Meter>,
}

impl<F: Fabric> Post for Mail<'_, '_, F> {
    fn post(&mut self, to: NodeId, message: Message<'_>) {
        let Outgoing { words, letters, .. } = &mut *self.outgoing;
        words.clear();
        message.write(words);
        if let Some(meter) = &mut self.meter {
            self.context.spend(meter.send(&message, words.len()));
        }
        let priority = message.priority();
        let sending = letters.as_mut().map(|letters| letters.sending(to, (message.kind(), priority)));
        self.outgoing.put(self.context, to, (PROTOCOL, priority), message.shows(), sending);
    }
}

impl<F: Fabric> Mail<'_, '_, F> {
    /// Sends what the balance says: behind what was sent to that node before (R2 of `rounds`).
    pub(crate) fn tell(&mut self, to: NodeId, notice: Notice) {
        let Outgoing { words, notices, letters, .. } = &mut *self.outgoing;
        notices[notice.kind() - TABLES] += 1;
        words.clear();
        words.push(notice.word());
        if let Some(meter) = &mut self.meter {
            self.context.spend(meter.send_words(notice.kind(), 1));
        }
        let sending = letters.as_mut().map(|letters| letters.sending(to, (notice.kind(), Priority::Low)));
        self.outgoing.put(self.context, to, (BALANCE, Priority::Low), false, sending);
    }
}
