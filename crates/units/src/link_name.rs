//! Names of links.

/// Separator between the destination node and the circuit in a link's name.
pub const CIRCUIT: char = '#';

/// Returns the name of a directed link: `A->B`, or `A->B#2` if the circuit `2` distinguishes it
/// from parallel links.
pub fn link_name(from: &str, to: &str, circuit: Option<&str>) -> String {
    join(from, "->", to, circuit)
}

/// Returns the common name of both directions of a link: `A<->B`, or `A<->B#2`.
pub fn duplex_name(from: &str, to: &str, circuit: Option<&str>) -> String {
    join(from, "<->", to, circuit)
}

/// Splits the text after the arrow of a link's name into node and circuit: `B` and `2` for `B#2`.
/// Returns `None` if there is no circuit.
pub fn split_circuit(text: &str) -> Option<(&str, &str)> {
    text.rsplit_once(CIRCUIT)
}

fn join(from: &str, arrow: &str, to: &str, circuit: Option<&str>) -> String {
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
    fn names_contain_ends_and_circuit() {
        assert_eq!(link_name("A", "B", None), "A->B");
        assert_eq!(link_name("A", "B", Some("2")), "A->B#2");
        assert_eq!(duplex_name("A", "B", Some("north")), "A<->B#north");
        assert_eq!(split_circuit("B#north"), Some(("B", "north")));
        assert_eq!(split_circuit("B#1#2"), Some(("B#1", "2")));
        assert_eq!(split_circuit("B"), None);
    }
}
