//! Profiles in the packet model.

use netflow_network::{Source, TcpVariant};
use netflow_scenario::{CompiledScenario, from_str};
use netflow_tcpmodel::CongestionControl;

fn compiled(source: &str, model: &str) -> CompiledScenario {
    let text = format!(
        "[simulation]\nduration = \"10 s\"\nmodel = \"{model}\"\n[[link]]\nfrom = \"A\"\nto = \"B\"\nbandwidth = \"10 Mbit/s\"\n\
         [[connection]]\nname = \"x\"\nfrom = \"A\"\nto = \"B\"\n{source}\n"
    );
    let compiled = from_str("test.toml", &text, ".".as_ref(), &[]);
    compiled.unwrap_or_else(|problems| panic!("{problems}"))
}

#[test]
fn built_in_profiles_become_the_tcp_they_were_measured_from() {
    for (profile, variant, window_pkts) in [
        ("ns-reno", TcpVariant::Reno, 10_000.0),
        ("ns-newreno-w64", TcpVariant::NewReno, 64.0),
        ("ns-vegas", TcpVariant::Vegas, 10_000.0),
    ] {
        let found = compiled(&format!("source = {{ profile = \"{profile}\" }}"), "packet");
        assert!(found.warnings.is_empty(), "{:?}", found.warnings);
        let id = found.network.connections().next().unwrap();
        let spec = found.network.connection_spec(id);
        let Source::Ns2Tcp(window) = &spec.source else {
            panic!("{:?}", spec.source);
        };
        assert_eq!(window.variant, variant);
        // The window with which it was measured.
        assert_eq!(spec.max_window_pkts, Some(window_pkts));
    }
    let found = compiled("source = { profile = \"linux-cubic\" }", "packet");
    let id = found.network.connections().next().unwrap();
    let Source::Tcp(stack) = &found.network.connection_spec(id).source else {
        panic!("not a stack");
    };
    assert_eq!(stack.congestion, CongestionControl::Cubic);
}

#[test]
fn the_smaller_window_applies() {
    let text = "source = { profile = \"ns-reno-w64\" }\nmax-window = \"20 pkt\"";
    let found = compiled(text, "packet");
    let id = found.network.connections().next().unwrap();
    assert_eq!(
        found.network.connection_spec(id).max_window_pkts,
        Some(20.0)
    );
}

#[test]
fn other_profiles_stay_rate_based_with_a_warning() {
    let found = compiled("source = { profile = \"mathis\" }", "packet");
    let [warning] = &found.warnings[..] else {
        panic!("{:?}", found.warnings);
    };
    assert!(
        warning
            .message
            .contains("sends at the rate of profile `mathis`"),
        "{}",
        warning.message
    );
    let id = found.network.connections().next().unwrap();
    assert!(matches!(
        found.network.connection_spec(id).source,
        Source::Profile(_)
    ));
    assert!(
        compiled("source = { profile = \"mathis\" }", "fluid")
            .warnings
            .is_empty()
    );
}
