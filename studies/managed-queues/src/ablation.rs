//! ns-3 with modified TCP, to explain differences.

use crate::cell::{Cell, Set};

/// C++ classes that replace classes of ns-3.
const CLASSES: &str = include_str!("ablation.cc");

/// Marker in the program before which they are inserted.
const BEFORE: &str = "// Sends as fast as TCP does";

/// Returns whether an experiment is also run with modified senders: Reno, CUBIC, and DCTCP without
/// marking; not in the development set.
pub fn applies(cell: &Cell) -> bool {
    match cell.stack {
        _ if cell.set == Set::Development => false,
        "reno" | "cubic" => true,
        "dctcp" => !cell.ecn,
        _ => false,
    }
}

/// Returns the program with modified senders: no window growth by data that was SACKed before,
/// CUBIC at least as fast as Reno (RFC 9438, 4.3), and DCTCP that halves its window after a loss
/// (RFC 8257, 3.5).
pub fn change(program: String) -> String {
    let names = [
        ("\"ns3::TcpLinuxReno\"", "\"ns3::SteadyReno\""),
        ("\"ns3::TcpCubic\"", "\"ns3::RenoFriendlyCubic\""),
        ("\"ns3::TcpDctcp\"", "\"ns3::HalvingDctcp\""),
    ];
    let program = program.replacen(BEFORE, &format!("{CLASSES}\n{BEFORE}"), 1);
    names
        .iter()
        .fold(program, |program, (old, new)| program.replace(old, new))
}
