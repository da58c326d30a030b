//! What links are called.

/// What stands between the end of a link and its circuit, in its name.
pub const CIRCUIT: char = '#';

/// What a link from one node to another is called: `A->B`, or `A->B#2` if it has a circuit that tells it from others
/// between the two.
pub fn link_name(from: &str, to: &str, circuit: Option<&str>) -> String {
    named(from, "->", to, circuit)
}

/// What both directions of a link are called together: `A<->B`, or `A<->B#2`.
pub fn duplex_name(from: &str, to: &str, circuit: Option<&str>) -> String {
    named(from, "<->", to, circuit)
}

/// The end and the circuit of what follows the arrow in a link's name, if it has a circuit: `B` and `2` of `B#2`.
pub fn end_and_circuit(text: &str) -> Option<(&str, &str)> {
    text.rsplit_once(CIRCUIT)
}

fn named(from: &str, arrow: &str, to: &str, circuit: Option<&str>) -> String {
    let mut name = format!("{from}{arrow}{to}");
    if let Some(circuit) = circuit {
        name.push(CIRCUIT);
        name += circuit;
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_ends_and_circuit() {
        assert_eq!(link_name("A", "B", None), "A->B");
        assert_eq!(link_name("A", "B", Some("2")), "A->B#2");
        assert_eq!(duplex_name("A", "B", Some("north")), "A<->B#north");
        assert_eq!(end_and_circuit("B#north"), Some(("B", "north")));
        assert_eq!(end_and_circuit("B#1#2"), Some(("B#1", "2")));
        assert_eq!(end_and_circuit("B"), None);
    }
}
