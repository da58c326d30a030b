//! ns-3 with one thing otherwise: what a difference comes from.

use crate::cell::{Cell, Set};

/// Classes of C++ that do what ns-3's do not.
const CLASSES: &str = include_str!("ablation.cc");

/// Where they come in the program.
const BEFORE: &str = "// Sends as fast as TCP does";

/// Whether a cell is run with other senders, too: Reno's, CUBIC's, and DCTCP's where nothing is
/// marked, but for the development set's.
pub fn applies(cell: &Cell) -> bool {
    match cell.stack {
        _ if cell.set == Set::Development => false,
        "reno" | "cubic" => true,
        "dctcp" => !cell.ecn,
        _ => false,
    }
}

/// The program with other senders: windows that do not grow by what was acknowledged selectively before, CUBIC
/// no slower than Reno (RFC 9438, 4.3), and DCTCP that halves its window for a loss (RFC 8257, 3.5).
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
