//! The Python blocks of scripts: assertions on `tcp_info`, and integer variables.

use std::collections::BTreeMap;

/// The result of a block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checked {
    /// The number of assertions compared.
    pub compared: usize,
    /// Assertions on values that the model does not have.
    pub unknown: Vec<String>,
}

/// Runs a block. `value` returns a field of `tcp_info` or a constant of packetdrill.
///
/// # Errors
/// The first assertion that is false, with the value found.
pub fn run(
    block: &str,
    variables: &mut BTreeMap<String, i64>,
    value: impl Fn(&str) -> Option<i64>,
) -> Result<Checked, String> {
    let mut checked = Checked::default();
    let lines = block
        .lines()
        .map(|line| line.split('#').next().unwrap_or_default());
    for statement in lines.flat_map(|line| line.split(';')).map(str::trim) {
        let term = |text: &str, variables: &BTreeMap<String, i64>| {
            let text = text.trim();
            let number = match text.strip_prefix("0x") {
                Some(digits) => i64::from_str_radix(digits, 16).ok(),
                None => text.parse().ok(),
            };
            number
                .or_else(|| variables.get(text).copied())
                .or_else(|| value(text))
        };
        if let Some(assertion) = statement.strip_prefix("assert ") {
            let condition = assertion.split(',').next().unwrap_or_default().trim();
            let parts = ["==", "!=", "<=", ">=", "<", ">"]
                .into_iter()
                .find_map(|operator| {
                    condition
                        .split_once(operator)
                        .map(|(left, right)| (left, operator, right))
                });
            let values = parts.and_then(|(left, operator, right)| {
                Some((term(left, variables)?, operator, term(right, variables)?))
            });
            let Some((left, operator, right)) = values else {
                checked.unknown.push(condition.to_owned());
                continue;
            };
            let holds = match operator {
                "==" => left == right,
                "!=" => left != right,
                "<=" => left <= right,
                ">=" => left >= right,
                "<" => left < right,
                _ => left > right,
            };
            if !holds {
                return Err(format!("`{condition}`: it is {left}"));
            }
            checked.compared += 1;
        } else if let Some((name, added)) = statement.split_once("+=") {
            if let Some(added) = term(added, variables) {
                *variables.entry(name.trim().to_owned()).or_default() += added;
            }
        } else if let Some((name, number)) = statement.split_once('=')
            && let Some(number) = term(number, variables)
        {
            variables.insert(name.trim().to_owned(), number);
        }
    }
    Ok(checked)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Variables, comments, operators, unknown values and a false assertion.
    #[test]
    fn assertions_are_evaluated() {
        let mut variables = BTreeMap::new();
        let value = |name: &str| (name == "tcpi_snd_cwnd").then_some(10);
        let mut check = |block: &str| run(block, &mut variables, value);
        let good = check(
            "n = 9; n += 1; assert tcpi_snd_cwnd == n, 'is %d' % n\nassert tcpi_rtt > 0 # unknown\n",
        );
        let expected = Checked {
            compared: 1,
            unknown: vec!["tcpi_rtt > 0".to_owned()],
        };
        assert_eq!(good, Ok(expected));
        assert_eq!(check("assert 0x0a <= tcpi_snd_cwnd").unwrap().compared, 1);
        assert_eq!(
            check("assert tcpi_snd_cwnd < 10"),
            Err("`tcpi_snd_cwnd < 10`: it is 10".to_owned())
        );
    }
}
