//! `[[workload]]`

use netflow_document::{
    Findings, Quantity, Read, Section, Spanned, Value, ValueKind, keyword_enum, table,
};
use netflow_units::{Bytes, Seconds};
use schemars::JsonSchema;
use serde::Serialize;

use super::{ByteSize, DistributionSetting, RateSetting, Time, UsersSourceSetting, allowed};

/// Users who arrive at random times, send requests to servers over one connection each, wait for the replies, and
/// leave. Quantities that vary between users have a distribution, with a default.
#[table(name = "workload", called = override_name, check = check_application_keys)]
pub struct Workload {
    /// Unique name in results.
    #[key(example = "web")]
    pub name: Spanned<String>,
    /// Application of the users: `"http"` (reading web pages), `"telnet"` (typing at a remote terminal) or
    /// `"video"` (watching videos).
    #[key(example = "http")]
    pub application: Spanned<ApplicationName>,
    /// Mean time between arrivals of users (a Poisson process).
    #[key(allowed = allowed::INTERARRIVAL, example = "500 ms")]
    pub interarrival: Time,
    /// Node of the users, or several nodes, which they use in turn. Required in a scenario with links.
    #[key(allowed = allowed::PLACES, example = "A")]
    pub clients: Option<Spanned<Places>>,
    /// Node of the servers, or several nodes, which are used in turn.
    #[key(allowed = allowed::PLACES, example = "B")]
    pub servers: Option<Spanned<Places>>,
    /// Time of the first possible arrival. Default: 0 s.
    #[key(allowed = allowed::MOMENT, example = "10 s")]
    pub start: Option<Time>,
    /// Time of the last possible arrival; present users stay. Default: the end of the run.
    #[key(allowed = allowed::MOMENT, example = "50 s")]
    pub stop: Option<Time>,
    /// TCP at both ends in the packet model: an ns-2 TCP, or a stack with its settings. Default: the `stack`, or
    /// else `{ ns2-tcp = "reno" }`. The default of its `send-jitter` is 0 s here, because users arrive at random.
    #[key(example = "{ tcp = \"linux-6\", congestion = \"bbr\" }")]
    pub source: Option<Spanned<UsersSourceSetting>>,
    /// Size of a full packet on the wire, with 40 B of headers. Default: `packet-size` of the simulation.
    #[key(allowed = allowed::FULL_PACKET, example = "1500 B")]
    pub packet_size: Option<ByteSize>,
    /// TCP stack at both ends: `"linux-6"`, `"legacy"`, `"linux-2.0.34"`, `"rfc6298"` or `"ns-2.35"`. Default:
    /// `"linux-6"` in the fluid model, `source` in the packet model.
    #[key(example = "linux-6")]
    pub stack: Option<Spanned<String>>,

    /// http, video: size of a request. Default: about 250 B (70 %) or 1 KB; 300 B for video.
    #[key(example = "{ constant = \"300 B\" }")]
    pub request_size: Option<Spanned<Sizes>>,
    /// http: size of a reply (a file). Default: Pareto with a median of 1750 B, at most 2 MB.
    #[key(example = "{ pareto = { shape = 1.1, min = \"1 KB\", max = \"2 MB\" } }")]
    pub reply_size: Option<Spanned<Sizes>>,
    /// http: number of files of a page; fractions are rounded up. Default: 3 on average, mostly 1.
    #[key(example = "{ constant = 3 }")]
    pub files_per_page: Option<Spanned<Counts>>,
    /// http: time from the end of a page to the request for the next. Default: log-normal with a median of 15 s.
    #[key(example = "{ exponential = { mean = \"15 s\", max = \"900 s\" } }")]
    pub think_time: Option<Spanned<Times>>,
    /// http: number of pages that a user reads before leaving; fractions are rounded up. Default: 4 on average,
    /// median 2.
    #[key(example = "{ constant = 4 }")]
    pub pages_per_visit: Option<Spanned<Counts>>,

    /// telnet: number of keystrokes of a user; fractions are rounded up. Default: log-normal with a median of
    /// 100.
    #[key(example = "{ constant = 100 }")]
    pub keystrokes: Option<Spanned<Counts>>,
    /// telnet: time between keystrokes. Default: Pareto with 15 % above 1 s.
    #[key(example = "{ exponential = { mean = \"0.5 s\", max = \"60 s\" } }")]
    pub keystroke_gap: Option<Spanned<Times>>,
    /// telnet: data that a keystroke sends. Default: 1 B.
    #[key(example = "{ constant = \"1 B\" }")]
    pub keystroke_size: Option<Spanned<Sizes>>,
    /// telnet: size of the reply to a keystroke. Default: 1 B (90 %), or up to 1 KB.
    #[key(example = "{ constant = \"1 B\" }")]
    pub echo_size: Option<Spanned<Sizes>>,

    /// video: bit rate of the video, without headers. Default: 2.5 Mbit/s.
    #[key(allowed = allowed::BITRATE, example = "2.5 Mbit/s")]
    pub bitrate: Option<RateSetting>,
    /// video: playing time of a chunk. Default: 4 s.
    #[key(allowed = allowed::CHUNK, example = "4 s")]
    pub chunk: Option<Time>,
    /// video: remaining playing time at which the next chunk is requested. Default: 20 s.
    #[key(allowed = allowed::AHEAD, example = "20 s")]
    pub ahead: Option<Time>,
    /// video: length of a video; the last chunk is complete. Default: 120 s.
    #[key(example = "{ constant = \"120 s\" }")]
    pub video_length: Option<Spanned<Times>>,
}

/// Distribution of lengths.
pub type Sizes = DistributionSetting<Quantity<Bytes>>;
/// Distribution of times.
pub type Times = DistributionSetting<Quantity<Seconds>>;
/// Distribution of numbers of things.
pub type Counts = DistributionSetting<f64>;

/// Application of the users.
#[keyword_enum]
pub enum ApplicationName {
    /// Reading web pages, over a persistent connection with pipelining.
    Http,
    /// Typing at a remote terminal.
    Telnet,
    /// Watching videos, in chunks over a persistent connection.
    Video,
}

/// One node, or several.
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
    const KIND: &'static str = "a node's name, or an array of them";

    fn read(value: &Value<'_>, key: &str, findings: &mut Findings) -> Option<Places> {
        match value.kind {
            ValueKind::Array { .. } => Vec::read(value, key, findings).map(Places::Several),
            _ => {
                let node = String::read(value, key, findings)?;
                Some(Places::One(Spanned::new(node, value.place)))
            }
        }
    }

    fn shown(&self) -> String {
        match self {
            Places::One(node) => node.shown(),
            Places::Several(nodes) => nodes.shown(),
        }
    }

    fn fallback() -> Places {
        Places::Several(Vec::new())
    }
}

fn override_name(section: &Section<'_, '_>) -> Option<String> {
    Some(format!("workload.{}", section.text("name")?))
}

/// Refuses the keys of the other applications.
fn check_application_keys(workload: &mut Workload, s: &mut Section<'_, '_>) {
    let http = [
        "reply-size",
        "files-per-page",
        "think-time",
        "pages-per-visit",
    ];
    let telnet = ["keystrokes", "keystroke-gap", "keystroke-size", "echo-size"];
    let video = ["bitrate", "chunk", "ahead", "video-length"];
    if workload.application.is_valid() {
        let (others, why): (&[&[&str]], _) = match *workload.application {
            ApplicationName::Http => (&[&telnet, &video], "the application is \"http\""),
            ApplicationName::Telnet => (
                &[&["request-size"], &http, &video],
                "the application is \"telnet\"",
            ),
            ApplicationName::Video => (&[&http, &telnet], "the application is \"video\""),
        };
        others.iter().for_each(|keys| s.reject(keys, why));
    }
}
