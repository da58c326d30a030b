//! `source` in `[[connection]]`

use netflow_document::{Quantity, Spanned, Value, ValueKind, one_of};
use netflow_tcpmodel::builtin_names;
use netflow_units::{PacketsPerSecond, Rate};

use super::{Ns2TcpSetting, RateSetting, StackSetting, allowed};

/// Source of traffic.
#[one_of(what = "a source", instead = source_help)]
pub enum SourceSetting {
    /// TCP with measured throughput: the name of a built-in profile, or the path of a profile file relative to
    /// the scenario.
    #[key(example = "ns-reno")]
    Profile(Spanned<String>),
    /// Constant rate, independent of the network.
    #[key(allowed = allowed::RATE, example = "2 Mbit/s")]
    Constant(RateSetting),
    /// Packets at random times (a Poisson process); the fluid model uses their mean rate.
    #[key(allowed = allowed::RATE, example = "100 pkt/s")]
    Poisson(RateSetting),
    /// ns-2 TCP, simulated packet by packet.
    #[key(name = "ns2-tcp", beside)]
    Ns2Tcp(Box<Ns2TcpSetting>),
    /// TCP of an operating system at both ends, simulated segment by segment.
    #[key(name = "tcp", beside)]
    Tcp(Box<StackSetting>),
}

/// Source of users' connections, at both ends.
#[one_of(what = "a source of users", instead = users_source_help)]
pub enum UsersSourceSetting {
    /// ns-2 TCP, simulated packet by packet.
    #[key(name = "ns2-tcp", beside)]
    Ns2Tcp(Box<Ns2TcpSetting>),
    /// TCP of an operating system at both ends; the fluid model uses it for response times.
    #[key(name = "tcp", beside)]
    Tcp(Box<StackSetting>),
}

impl UsersSourceSetting {
    /// Of users without any.
    fn stand_in() -> UsersSourceSetting {
        UsersSourceSetting::Tcp(Box::new(StackSetting {
            stack: String::new().into(),
            congestion: None,
            initial_window: None,
            send_buffer: None,
            ecn: None,
            l4s: None,
            hystart: None,
            host_delay: None,
            segmentation_offload: None,
        }))
    }
}

fn users_source_help(key: &str, _: &Value<'_>) -> String {
    format!("write `{key} = {{ tcp = \"linux-6\" }}`")
}

impl SourceSetting {
    /// Of a connection without any.
    fn stand_in() -> SourceSetting {
        let rate = Quantity(Rate::PacketsPerSecond(PacketsPerSecond(1.0)));
        SourceSetting::Constant(rate.into())
    }
}

fn source_help(key: &str, value: &Value<'_>) -> String {
    match value.kind {
        ValueKind::String(text) | ValueKind::Cell(text) => match text.parse::<Rate>() {
            Ok(_) => format!("write `{key} = {{ constant = \"{text}\" }}`"),
            Err(_) if builtin_names().contains(&text) => {
                format!("write `{key} = {{ tcp = \"{text}\" }}`")
            }
            Err(_) => format!("write `{key} = {{ profile = \"{text}\" }}`"),
        },
        _ => format!("write `{key} = {{ profile = \"ns-reno\" }}`"),
    }
}
