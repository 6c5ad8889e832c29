//! What other nodes tell this one. The invariants are those of `node`.

use super::Reducer;
use super::outgoing::BESIDE;
use super::trace::noted;
use crate::balance::Notice;
use crate::protocol::Fault;
use crate::wire::message::Message;
use fabric::{Fabric, NodeId, Priority};
use machine::{Call, Context, Verdict};
use runtime::outcome::RunOutcome;
use term::abi::PredicateId;

impl Reducer<'_> {
    /// A message of the protocol has come.
    pub(super) fn hear<F: Fabric>(&mut self, context: &mut Context<'_, F>, call: &Call<'_>) {
        let mut incoming = std::mem::take(&mut self.incoming);
        let words = if call.payload.is_empty() {
            call.words
        } else {
            let (chunks, _) = call.payload.as_chunks::<8>();
            incoming.clear();
            incoming.extend(chunks.iter().map(|chunk| u64::from_le_bytes(*chunk)));
            &incoming
        };
        match Message::read(words, self.out.protocol.options().nodes) {
            Ok(message) => self.receive(context, call.from, message),
            Err(malformed) => self.fault(context, Fault::of(call.from, malformed)),
        }
        self.incoming = incoming;
    }
    fn receive<F: Fabric>(&mut self, context: &mut Context<'_, F>, from: NodeId, message: Message<'_>) {
        if let Some(meter) = &mut self.out.meter {
            context.spend(meter.receive(message.kind()));
        }
        let Some(room) = self.make_room(context, from, &message) else { return };
        if let Message::Throw { predicate, gift, .. } = message {
            if gift {
                let told = self.balance.got(from, predicate, self.traffic());
                self.out.say(context, told);
            } else {
                self.node.terms().place_here(PredicateId(predicate));
            }
        }
        self.received += 1;
        self.woken = true;
        let Reducer { node, out, .. } = self;
        if message.shows() {
            out.outgoing.beside.get().into_iter().for_each(|mut beside| beside.heard());
        }
        let letters = out.outgoing.letters.as_mut();
        let handling = letters.map(|letters| letters.handling(from, (message.kind(), message.priority())));
        let mut terms = node.terms();
        let received =
            noted(handling, || out.with(&mut terms, context, room, |with| with.receive(from, message)));
        if let Err(fault) = received {
            self.fault(context, fault);
        }
    }

    /// A notice of another node's balance has come.
    pub(super) fn consider<F: Fabric>(&mut self, context: &mut Context<'_, F>, call: &Call<'_>) {
        let notice = match Notice::read(call.words) {
            Ok(notice) => notice,
            Err(malformed) => return self.fault(context, Fault::of(call.from, malformed)),
        };
        if let Some(meter) = &mut self.out.meter {
            context.spend(meter.receive(notice.kind()));
        }
        let letters = self.out.outgoing.letters.as_mut();
        let handling = letters.map(|letters| letters.handling(call.from, (notice.kind(), Priority::Low)));
        noted(handling, || match notice {
            Notice::Hungry => {
                self.balance.hear(call.from);
                if !self.holds_back {
                    self.feed(context);
                }
            }
            Notice::Gained { predicate, much } => {
                self.balance.tell_time(self.time());
                self.balance.gained(predicate, much);
            }
            Notice::Collect(round) => self.rounds.hear(call.from, round),
            Notice::Offer => self.woken |= self.balance.offered(),
        });
    }

    /// A message of what is beside has come.
    pub(super) fn pass_on<F: Fabric>(
        &mut self,
        context: &mut Context<'_, F>,
        call: &Call<'_>,
        code: u32,
    ) -> Verdict {
        let Reducer { node, out, .. } = self;
        let outgoing = &mut out.outgoing;
        let (Some(kind), Some(mut beside)) = (code.checked_sub(BESIDE), outgoing.beside.get()) else {
            return Verdict::Strange;
        };
        let received = beside.receive(&mut node.terms(), call.from, kind, call.words, call.payload);
        drop(beside);
        node.expect_messages();
        // An acknowledgement of the machine's goes back.
        outgoing.wake(context.node(), call.from);
        outgoing.send_beside(context);
        if let Err(malformed) = received {
            self.fault(context, Fault::of(call.from, malformed));
        }
        Verdict::Done
    }

    /// The words for which there is room now, and the message may need; `None`: there is none, and the run is over.
    fn make_room<F: Fabric>(
        &mut self,
        context: &mut Context<'_, F>,
        from: NodeId,
        message: &Message<'_>,
    ) -> Option<usize> {
        if self.out.protocol.can_spare(message) {
            return Some(0);
        }
        let room = message.room();
        let Err(error) = self.node.make_room(room) else { return Some(room) };
        let error = error.detail(format!("it came with a message of node {}", from.0));
        self.stop(context, Some(RunOutcome::Failed(error)));
        None
    }
}
