//! ECN field of the IP header (RFC 3168, section 5; RFC 9331 for ECT(1)).

/// ECN code point of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EcnCodepoint {
    /// Not ECN-capable: congestion is signalled by drops.
    #[default]
    NotEct,
    /// ECT(1): ECN-capable, from a sender with an L4S congestion control (RFC 9331).
    Ect1,
    /// ECT(0): ECN-capable (RFC 3168).
    Ect0,
    /// CE: congestion experienced, marked by an earlier queue.
    Ce,
}

impl EcnCodepoint {
    /// Returns the code point with these bits, the two last ones of the second byte of the IPv4 header.
    pub fn from_bits(bits: u8) -> EcnCodepoint {
        match bits & 3 {
            0 => EcnCodepoint::NotEct,
            1 => EcnCodepoint::Ect1,
            2 => EcnCodepoint::Ect0,
            _ => EcnCodepoint::Ce,
        }
    }

    /// Returns true if the packet may be marked instead of dropped.
    #[inline]
    pub fn is_capable(self) -> bool {
        self != EcnCodepoint::NotEct
    }

    /// Returns true if the packet counts as L4S traffic: ECT(1), and CE, which may have been ECT(1) (RFC 9331,
    /// section 5.1).
    #[inline]
    pub fn is_l4s(self) -> bool {
        matches!(self, EcnCodepoint::Ect1 | EcnCodepoint::Ce)
    }
}
