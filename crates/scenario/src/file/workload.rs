//! `[[workload]]`

use schemars::JsonSchema;
use serde::Serialize;

use netflow_units::Seconds;

use super::{ByteSize, DistributionSetting, Time, WindowSetting, allowed};
use crate::place::Spanned;
use crate::problem::Findings;
use crate::read::{Element, Quantity, Read, Section, Shown, Value, any, word};

/// Users, who come at random moments, ask servers for something over one connection each, wait for
/// the answers, and go. What differs from one to the next has a distribution, with a default.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Workload {
    /// Its name in results, unique.
    pub name: Spanned<String>,
    /// What users do: `"http"`, they read web pages, or `"telnet"`, they type at a remote terminal.
    pub application: Spanned<ApplicationName>,
    /// Mean time between one user's coming and the next's (a Poisson process).
    pub interarrival: Time,
    /// Where users sit: a node, or several, which they take in turns. Needed in a network.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clients: Option<Spanned<Places>>,
    /// Where servers stand, likewise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub servers: Option<Spanned<Places>>,
    /// Nobody comes before. Default: 0 s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start: Option<Time>,
    /// Nobody comes from then on; those who are there stay. Default: the end of the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop: Option<Time>,
    /// The senders at both ends, with the window model. Default: `{ window = "reno" }`. The default
    /// of its `send-jitter` is 0 s here: users come at random anyway.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<Spanned<WindowSetting>>,
    /// Size of a full packet on the wire, 40 B of it headers. Default: the simulation's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packet_size: Option<ByteSize>,
    /// The TCP at both ends, with the fluid models: `"linux-6"`, `"legacy"`, `"linux-2.0.34"`,
    /// `"rfc6298"` or `"ns-2.35"`. Default: `"linux-6"`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stack: Option<Spanned<String>>,

    /// http: length of a request. Default: about 250 B (70 %) or 1 KB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_size: Option<Spanned<Sizes>>,
    /// http: length of a reply, a file. Default: Pareto with a median of 1750 B, at most 2 MB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reply_size: Option<Spanned<Sizes>>,
    /// http: files of a page; fractions are rounded up. Default: 3 on average, mostly 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files_per_page: Option<Spanned<Counts>>,
    /// http: from the end of a page to the request for the next. Default: log-normal with a median
    /// of 15 s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub think_time: Option<Spanned<Times>>,
    /// http: pages that a user reads before going; fractions are rounded up. Default: 4 on average,
    /// half of all up to 2.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pages_per_visit: Option<Spanned<Counts>>,

    /// telnet: keystrokes of a user; fractions are rounded up. Default: log-normal with a median
    /// of 100.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keystrokes: Option<Spanned<Counts>>,
    /// telnet: from one keystroke to the next. Default: Pareto with 15 % above a second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keystroke_gap: Option<Spanned<Times>>,
    /// telnet: what a keystroke sends. Default: 1 B.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keystroke_size: Option<Spanned<Sizes>>,
    /// telnet: what it is answered with. Default: 1 B (90 %), or up to 1 KB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub echo_size: Option<Spanned<Sizes>>,
}

/// Distribution of lengths.
pub type Sizes = DistributionSetting<Quantity<netflow_units::Bytes>>;
/// Distribution of times.
pub type Times = DistributionSetting<Quantity<Seconds>>;
/// Distribution of numbers of things.
pub type Counts = DistributionSetting<f64>;

/// What users do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ApplicationName {
    /// They read web pages, over a persistent connection with pipelining.
    Http,
    /// They type at a remote terminal.
    Telnet,
}

const APPLICATIONS: [(&str, ApplicationName); 2] = [
    ("http", ApplicationName::Http),
    ("telnet", ApplicationName::Telnet),
];

impl Read for ApplicationName {
    fn read(value: &Value<'_>, key: &str, findings: &mut Findings) -> Option<ApplicationName> {
        word(value, key, &APPLICATIONS, &[], findings)
    }
}

impl Shown for ApplicationName {
    fn shown(&self) -> String {
        let mut all = APPLICATIONS.iter();
        all.find(|(_, name)| name == self)
            .map_or_else(String::new, |(name, _)| (*name).to_owned())
    }
}

/// A node, or several.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Places {
    /// One node: `"N1"`.
    One(Spanned<String>),
    /// Several: `["N1", "N2"]`.
    Several(Vec<Spanned<String>>),
}

impl Places {
    /// All of them.
    pub fn nodes(&self) -> &[Spanned<String>] {
        match self {
            Places::One(node) => std::slice::from_ref(node),
            Places::Several(nodes) => nodes,
        }
    }
}

impl Read for Places {
    fn read(value: &Value<'_>, key: &str, findings: &mut Findings) -> Option<Places> {
        use crate::read::Kind;
        match value.kind {
            Kind::Array(_) => Vec::read(value, key, findings).map(Places::Several),
            _ => {
                let node = String::read(value, key, findings)?;
                Some(Places::One(Spanned::new(node, value.place)))
            }
        }
    }
}

impl Shown for Places {
    fn shown(&self) -> String {
        match self {
            Places::One(node) => node.shown(),
            Places::Several(nodes) => nodes.shown(),
        }
    }
}

/// Keys that only one application has.
const OF_HTTP: [&str; 5] = [
    "request-size",
    "reply-size",
    "files-per-page",
    "think-time",
    "pages-per-visit",
];
const OF_TELNET: [&str; 4] = ["keystrokes", "keystroke-gap", "keystroke-size", "echo-size"];

impl Workload {
    pub(crate) const EXAMPLE: &'static str = "`name = \"web\"`, `application = \"http\"`, \
         `interarrival = \"500 ms\"`, `clients = \"A\"` and `servers = \"B\"`";
}

impl Element for Workload {
    const NAME: &'static str = "workload";
    const KEYS: &'static [&'static str] = &[
        "name",
        "application",
        "interarrival",
        "clients",
        "servers",
        "start",
        "stop",
        "source",
        "packet-size",
        "stack",
        "request-size",
        "reply-size",
        "files-per-page",
        "think-time",
        "pages-per-visit",
        "keystrokes",
        "keystroke-gap",
        "keystroke-size",
        "echo-size",
    ];

    fn read(mut s: Section<'_, '_>) -> Workload {
        let name: Spanned<String> = s.required("name", &any(), "name = \"web\"", String::new());
        s.call(|| format!("workload.{}", *name));
        let application = s.required(
            "application",
            &any(),
            "application = \"http\"",
            ApplicationName::Http,
        );
        if application.is_sound() {
            match *application {
                ApplicationName::Http => s.refuse(&OF_TELNET, "the application is \"http\""),
                ApplicationName::Telnet => s.refuse(&OF_HTTP, "the application is \"telnet\""),
            }
        }
        let places = crate::read::Allowed {
            test: |places: &Places| !places.nodes().is_empty(),
            text: "at least one node",
        };
        let second = Quantity(Seconds(1.0));
        let workload = Workload {
            name,
            application,
            interarrival: s.required(
                "interarrival",
                &allowed::INTERARRIVAL,
                "interarrival = \"500 ms\"",
                second,
            ),
            clients: s.optional("clients", &places),
            servers: s.optional("servers", &places),
            start: s.optional("start", &allowed::MOMENT),
            stop: s.optional("stop", &allowed::MOMENT),
            source: s.optional("source", &any()),
            packet_size: s.optional("packet-size", &allowed::FULL_PACKET),
            stack: s.optional("stack", &any()),
            request_size: s.optional("request-size", &any()),
            reply_size: s.optional("reply-size", &any()),
            files_per_page: s.optional("files-per-page", &any()),
            think_time: s.optional("think-time", &any()),
            pages_per_visit: s.optional("pages-per-visit", &any()),
            keystrokes: s.optional("keystrokes", &any()),
            keystroke_gap: s.optional("keystroke-gap", &any()),
            keystroke_size: s.optional("keystroke-size", &any()),
            echo_size: s.optional("echo-size", &any()),
        };
        s.finish();
        workload
    }
}
