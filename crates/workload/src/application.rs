//! User applications: web, remote terminal and video.

use crate::{
    Distribution,
    error::{Error, ensure},
    random_streams::Random,
    session::{Exchange, Playback, Turn, UserKind},
};

/// Maximum number of turns of a session, and of files of a page.
pub(crate) const MAX_TURNS: u32 = 100_000;
/// Maximum length of a request or reply in bytes.
pub(crate) const MAX_BYTES: u32 = 1 << 30;

/// Application of a user.
#[derive(Clone, Debug, PartialEq)]
pub enum Application {
    /// Web browsing.
    Http(Http),
    /// Remote terminal.
    Telnet(Telnet),
    /// Video streaming.
    Video(Video),
}

impl Application {
    /// Returns its kind.
    pub fn kind(&self) -> UserKind {
        match self {
            Self::Http(_) => UserKind::Http,
            Self::Telnet(_) => UserKind::Telnet,
            Self::Video(_) => UserKind::Video,
        }
    }

    /// Checks every distribution.
    ///
    /// # Errors
    /// The first number out of its range.
    pub fn check(&self) -> Result<(), Error> {
        match self {
            Self::Http(http) => http.check(),
            Self::Telnet(telnet) => telnet.check(),
            Self::Video(video) => video.check(),
        }
    }

    /// Returns the mean bytes of requests and of replies in a session.
    pub fn mean_bytes(&self) -> (f64, f64) {
        let exchanges = self.mean_exchanges();
        let (request, reply) = self.size_distributions();
        (exchanges * request.mean(), exchanges * reply.mean())
    }

    /// Returns the mean number of requests in a session.
    pub fn mean_exchanges(&self) -> f64 {
        match self {
            Self::Http(http) => http.pages.mean_count(MAX_TURNS) * http.files.mean_count(MAX_TURNS),
            Self::Telnet(telnet) => telnet.keystrokes.mean_count(MAX_TURNS),
            Self::Video(video) => video.chunks().mean_count(MAX_TURNS),
        }
    }

    /// Returns the mean number of packets in a session and their mean payload in bytes, for requests and for
    /// replies, with at most `payload_bytes` per packet. Requests include the empty packet that opens the
    /// connection.
    pub fn mean_packets(&self, payload_bytes: f64) -> [(f64, f64); 2] {
        let exchanges = self.mean_exchanges();
        let (requests, replies) = self.size_distributions();
        [(requests, 1.0), (replies, 0.0)].map(|(length, empty)| {
            let pkts = exchanges * length.mean_packets(payload_bytes) + empty;
            (pkts, exchanges * length.mean().max(1.0) / pkts)
        })
    }

    /// Returns the maximum number of requests in a session.
    pub fn max_exchanges(&self) -> f64 {
        let most = |count: &Distribution| count.largest().ceil().clamp(1.0, MAX_TURNS.into());
        match self {
            Self::Http(http) => most(&http.pages) * most(&http.files),
            Self::Telnet(telnet) => most(&telnet.keystrokes),
            Self::Video(video) => most(&video.chunks()),
        }
    }

    /// Returns the lengths of requests and of replies in bytes.
    pub fn size_distributions(&self) -> (&Distribution, &Distribution) {
        match self {
            Self::Http(http) => (&http.request_bytes, &http.reply_bytes),
            Self::Telnet(telnet) => (&telnet.keystroke_bytes, &telnet.echo_bytes),
            Self::Video(video) => (&video.request_bytes, &video.chunk_bytes),
        }
    }

    /// Returns the playback settings of a video.
    pub(crate) fn playback(&self) -> Option<Playback> {
        match self {
            Self::Http(_) | Self::Telnet(_) => None,
            Self::Video(video) => Some(video.playback),
        }
    }

    pub(crate) fn turns(&self, random: &mut Random) -> Vec<Turn> {
        match self {
            Self::Http(http) => http.turns(random),
            Self::Telnet(telnet) => telnet.turns(random),
            Self::Video(video) => video.turns(random),
        }
    }
}

/// Web user (\[IPB\] after Mah, *An Empirical Model of HTTP Network Traffic*, INFOCOM 1997). All pages are
/// fetched from one server over one persistent connection. The first file of a page is requested alone; when
/// it is complete, all others are requested at once. When these are complete, the user thinks and then
/// requests the next page.
#[derive(Clone, Debug, PartialEq)]
pub struct Http {
    /// Length of a request, in bytes.
    pub request_bytes: Distribution,
    /// Length of a reply, in bytes.
    pub reply_bytes: Distribution,
    /// Files per page; fractions are rounded up.
    pub files: Distribution,
    /// Think time in seconds, from the last byte of a page to the first request of the next.
    pub think_s: Distribution,
    /// Pages per visit; fractions are rounded up.
    pub pages: Distribution,
}

impl Default for Http {
    /// Values of \[IPB\]. Requests have about 250 B (70 %) or 1 KB (15 %). Replies have a median of 1750 B
    /// and a mean of 9 KB before the cut at 2 MB. Pages have 3 files on average, and more than half of them
    /// only one. Visits have 4 pages on average, and half of them up to 2. The median think time is 15 s.
    /// Values that \[IPB\] omits are chosen here: the spread of think times, and the tables between the given
    /// points.
    fn default() -> Self {
        Self {
            request_bytes: Distribution::Table(vec![
                (200.0, 0.0),
                (300.0, 0.70),
                (900.0, 0.85),
                (1100.0, 1.0),
            ]),
            reply_bytes: Distribution::Pareto {
                shape: 1.117,
                least: 941.0,
                most: 2e6,
            },
            files: Distribution::Table(vec![
                (1.0, 0.60),
                (2.0, 0.70),
                (3.0, 0.78),
                (4.0, 0.83),
                (6.0, 0.90),
                (10.0, 0.95),
                (20.0, 0.985),
                (40.0, 1.0),
            ]),
            think_s: Distribution::LogNormal {
                median: 15.0,
                sigma: 1.3,
                most: 900.0,
            },
            pages: Distribution::Table(vec![
                (1.0, 0.40),
                (2.0, 0.60),
                (3.0, 0.70),
                (4.0, 0.77),
                (6.0, 0.85),
                (10.0, 0.925),
                (20.0, 0.98),
                (40.0, 1.0),
            ]),
        }
    }
}

impl Http {
    fn check(&self) -> Result<(), Error> {
        self.request_bytes.check("request-size")?;
        self.reply_bytes.check("reply-size")?;
        self.files.check("files-per-page")?;
        self.think_s.check("think-time")?;
        self.pages.check("pages-per-visit")
    }

    fn turns(&self, random: &mut Random) -> Vec<Turn> {
        let pages = self.pages.draw_count(random, MAX_TURNS);
        (0..pages)
            .map(|page| Turn {
                // No think time before the first page.
                pause_s: if page > 0 {
                    self.think_s.draw(random)
                } else {
                    0.0
                },
                exchanges: (0..self.files.draw_count(random, MAX_TURNS))
                    .map(|_| Exchange {
                        request_bytes: self.request_bytes.draw_count(random, MAX_BYTES),
                        reply_bytes: self.reply_bytes.draw_count(random, MAX_BYTES),
                    })
                    .collect(),
            })
            .collect()
    }
}

/// User of a remote terminal, who types without waiting for the echoes.
#[derive(Clone, Debug, PartialEq)]
pub struct Telnet {
    /// Keystrokes per session; fractions are rounded up.
    pub keystrokes: Distribution,
    /// Time between keystrokes in seconds.
    pub gap_s: Distribution,
    /// Bytes sent per keystroke.
    pub keystroke_bytes: Distribution,
    /// Bytes of the reply to a keystroke: its echo, or the output of a command.
    pub echo_bytes: Distribution,
}

impl Default for Telnet {
    /// Sessions have a median of 100 keystrokes and a log₂ standard deviation of 2.24. Gaps have a Pareto
    /// distribution of shape 0.9, and 15 % of them exceed a second (Paxson & Floyd, *Wide-Area Traffic: The
    /// Failure of Poisson Modeling*, ToN 1995). A keystroke has one byte. The reply sizes are chosen here: 10
    /// % of replies are longer than an echo.
    fn default() -> Self {
        Self {
            keystrokes: Distribution::LogNormal {
                median: 100.0,
                sigma: 2.24 * std::f64::consts::LN_2,
                most: 10_000.0,
            },
            gap_s: Distribution::Pareto {
                shape: 0.9,
                least: 0.1215,
                most: 60.0,
            },
            keystroke_bytes: Distribution::Constant(1.0),
            echo_bytes: Distribution::Table(vec![(1.0, 0.9), (80.0, 0.97), (1000.0, 1.0)]),
        }
    }
}

impl Telnet {
    fn check(&self) -> Result<(), Error> {
        self.keystrokes.check("keystrokes")?;
        self.gap_s.check("keystroke-gap")?;
        self.keystroke_bytes.check("keystroke-size")?;
        self.echo_bytes.check("echo-size")
    }

    fn turns(&self, random: &mut Random) -> Vec<Turn> {
        let keystrokes = self.keystrokes.draw_count(random, MAX_TURNS);
        (0..keystrokes)
            .map(|key| Turn {
                pause_s: if key > 0 {
                    self.gap_s.draw(random)
                } else {
                    0.0
                },
                exchanges: vec![Exchange {
                    request_bytes: self.keystroke_bytes.draw_count(random, MAX_BYTES),
                    reply_bytes: self.echo_bytes.draw_count(random, MAX_BYTES),
                }],
            })
            .collect()
    }
}

/// Video viewer with a player for HTTP streaming without adaptation, over one persistent connection. The
/// player requests the next chunk when the last one is complete and the playback buffer is at or below its
/// target. It plays from the first chunk on, and stalls while the playback buffer is empty.
#[derive(Clone, Debug, PartialEq)]
pub struct Video {
    /// Length of a request, in bytes.
    pub request_bytes: Distribution,
    /// Length of a chunk, in bytes.
    pub chunk_bytes: Distribution,
    /// Length of a video in seconds, rounded up to whole chunks.
    pub length_s: Distribution,
    /// Playback settings.
    pub playback: Playback,
}

impl Default for Video {
    /// A video with [`Video::BITRATE_BPS`] and [`Video::LENGTH_S`].
    fn default() -> Self {
        let length_s = Distribution::Constant(Self::LENGTH_S);
        Video::new(Self::BITRATE_BPS, length_s, Playback::default())
    }
}

impl Video {
    /// Default bit rate in bit/s, without headers.
    pub const BITRATE_BPS: f64 = 2.5e6;
    /// Default length of a video in seconds.
    pub const LENGTH_S: f64 = 120.0;

    /// Returns a video of `bitrate_bps` without headers, and requests of 300 B.
    pub fn new(bitrate_bps: f64, length_s: Distribution, playback: Playback) -> Video {
        Video {
            request_bytes: Distribution::Constant(300.0),
            chunk_bytes: Distribution::Constant(bitrate_bps * playback.chunk_s / 8.0),
            length_s,
            playback,
        }
    }

    fn check(&self) -> Result<(), Error> {
        self.request_bytes.check("request-size")?;
        self.chunk_bytes.check("chunk")?;
        self.length_s.check("video-length")?;
        ensure(
            self.playback.chunk_s > 0.0 && self.playback.chunk_s <= 1e6,
            "chunk",
            self.playback.chunk_s,
            "above 0 and at most 1e6",
        )?;
        ensure(
            self.playback.ahead_s >= 0.0 && self.playback.ahead_s <= 1e6,
            "ahead",
            self.playback.ahead_s,
            "from 0 to 1e6",
        )
    }

    /// Returns the number of chunks of a video before rounding up.
    fn chunks(&self) -> Distribution {
        self.length_s.scaled(1.0 / self.playback.chunk_s)
    }

    fn turns(&self, random: &mut Random) -> Vec<Turn> {
        let chunks = self.chunks().draw_count(random, MAX_TURNS);
        let chunk = |_| Turn {
            // The player decides.
            pause_s: 0.0,
            exchanges: vec![Exchange {
                request_bytes: self.request_bytes.draw_count(random, MAX_BYTES),
                reply_bytes: self.chunk_bytes.draw_count(random, MAX_BYTES),
            }],
        };
        (0..chunks).map(chunk).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Properties of users given by \[IPB\].
    #[test]
    fn http_defaults_match_the_paper() {
        let http = Http::default();
        assert_eq!(Application::Http(http.clone()).check(), Ok(()));
        let median = |distribution: &Distribution| distribution.quantile(0.5).ceil();
        assert!((1500.0..=2000.0).contains(&median(&http.reply_bytes)));
        let uncut = Distribution::Pareto {
            shape: 1.117,
            least: 941.0,
            most: 1e12,
        };
        assert!(
            (8_000.0..=10_000.0).contains(&uncut.mean()),
            "{}",
            uncut.mean()
        );
        assert!((2.8..=3.2).contains(&http.files.mean_count(100)));
        assert!(http.files.cdf(1.0) > 0.5);
        assert_eq!(median(&http.think_s), 15.0);
        assert!((3.8..=4.2).contains(&http.pages.mean_count(100)));
        assert_eq!(median(&http.pages), 2.0);
        assert!((http.request_bytes.cdf(300.0) - 0.7).abs() < 1e-12);
    }

    #[test]
    fn keystroke_defaults_match_the_paper() {
        let telnet = Telnet::default();
        assert_eq!(Application::Telnet(telnet.clone()).check(), Ok(()));
        assert!((1.0 - telnet.gap_s.cdf(1.0) - 0.15).abs() < 1e-3);
        assert_eq!(telnet.keystrokes.quantile(0.5).round(), 100.0);
    }
}
