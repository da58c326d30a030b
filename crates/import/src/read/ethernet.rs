//! Rates in the names of Ethernet types (IEEE 802.3): `1000BASE-T`, `10gbase-x-sfpp`, `10GigBaseLR`.

/// Returns the rate in bit/s of the name of an Ethernet type that a text begins with.
pub(super) fn rate_bps(text: &str) -> Option<f64> {
    let text = text.trim().to_ascii_lowercase();
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let number: f64 = text[..digits].parse().ok()?;
    let rest = &text[digits..];
    let (unit, rest) = match rest.strip_prefix("gig").or_else(|| rest.strip_prefix('g')) {
        Some(rest) => (1e9, rest),
        None => (1e6, rest),
    };
    (rest.starts_with("base") && number > 0.0).then_some(number * unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_contain_rates() {
        for (name, rate) in [
            ("1000BASE-T (1GE)", Some(1e9)),
            ("2.5gbase-t", Some(2.5e9)),
            ("10GigBaseLR - X fiber over PMD at 1310 nm", Some(10e9)),
            (
                "100BaseTXFD - 2 pair category 5 UTP, full duplex mode",
                Some(100e6),
            ),
            ("400gbase-x-qsfpdd", Some(400e9)),
            ("SFP+ (10GE)", None),
            ("virtual", None),
            ("1000", None),
        ] {
            assert_eq!(rate_bps(name), rate, "{name}");
        }
    }
}
