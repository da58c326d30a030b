//! One end of a connection: handshake, sending and receiving half.

use crate::Stack;
use crate::tcp::{Handshake, Receiver, Sender};

/// The state of the handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HandshakeState {
    /// The end waits for a SYN.
    Listening,
    /// The end has sent a SYN.
    SynSent,
    /// The end has answered a SYN.
    SynReceived,
    /// The end may send data.
    Open,
}

/// One end of a connection.
#[derive(Clone, Debug)]
pub(super) struct ConnectionEnd {
    pub handshake_state: HandshakeState,
    pub handshake: Handshake,
    pub sender: Sender,
    pub receiver: Receiver,
    /// The time of the last packet sent or received.
    pub active_ns: u64,
}

impl ConnectionEnd {
    /// Returns an end that has not sent anything.
    pub(super) fn new(handshake: Handshake, sender: Sender, receiver: Receiver) -> Self {
        Self {
            handshake_state: HandshakeState::Listening,
            handshake,
            sender,
            receiver,
            active_ns: 0,
        }
    }

    /// Opens the connection after the other end has answered.
    pub(super) fn open(&mut self, stack: &Stack, now_ns: u64, echo_ns: Option<u64>) {
        self.handshake_state = HandshakeState::Open;
        self.handshake.end(stack, now_ns, echo_ns, &mut self.sender);
    }
}
