//! One end of a connection: handshake, sending and receiving half.

use crate::Stack;
use crate::tcp::{Opening, Receiver, Sender};

/// How far the handshake is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Handshake {
    /// Waits for a SYN.
    Listening,
    /// Has sent a SYN.
    SynSent,
    /// Has answered a SYN.
    SynReceived,
    /// May send data.
    Open,
}

/// One end of a connection.
#[derive(Clone, Debug)]
pub(super) struct End {
    pub handshake: Handshake,
    pub opening: Opening,
    pub sender: Sender,
    pub receiver: Receiver,
    /// When it last sent or received anything.
    pub active_ns: u64,
}

impl End {
    /// An end that has not yet sent anything.
    pub(super) fn new(opening: Opening, sender: Sender, receiver: Receiver) -> Self {
        Self {
            handshake: Handshake::Listening,
            opening,
            sender,
            receiver,
            active_ns: 0,
        }
    }

    /// The other end has answered: data may flow.
    pub(super) fn open(&mut self, stack: &Stack, now_ns: u64, echo_ns: Option<u64>) {
        self.handshake = Handshake::Open;
        self.opening.end(stack, now_ns, echo_ns, &mut self.sender);
    }
}
