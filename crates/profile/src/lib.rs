//! TCP profiles: throughput as a function of loss and round-trip time.
//!
//! At a loss probability p and a round-trip time, a long TCP transfer settles at a rate F(p, rtt)
//! that depends on its implementation: its *profile*. The source is Popescu & Shankar, *Empirical
//! TCP Profiles and Application*, "\[Prof\]" in these pages; "\[PFTK\]" is Padhye, Firoiu, Towsley
//! & Kurose 1998. These types implement [`Profile`]:
//!
//! | type | F | built-in profiles |
//! |---|---|---|
//! | [`PowerLaw`] | B·rtt^(−A), A and B tabulated by loss | `windows-nt-4-sp3` (`nt`), `sunos-5.5` (`sun`), `netbsd-1.2` (`bsd`) |
//! | [`Grid`] | measured points, interpolated | `ns-reno`, `ns-newreno`, `ns-sack`, `ns-vegas`, `ns-tahoe`; the first four with a window of 64 packets: `ns-reno-w64` …; `linux-reno`, `linux-cubic` |
//! | [`Analytic`] | a steady-state formula | `mathis`, `pftk-approximate`, `pftk-full` (`pftk`) |
//!
//! Loss is a probability, round-trip times are in seconds, rates in packets per second with
//! retransmissions included (packets of 1000 B for `ns-*`, of 1500 B for `linux-*`).
//!
//! ```
//! use netflow_profile::{Faster, builtin, compare, from_toml};
//!
//! // NetBSD at 1 % loss and 100 ms.
//! let bsd = builtin("netbsd-1.2").expect("a built-in profile");
//! assert!((bsd.throughput(0.01, 0.1) - 102.3608).abs() < 1e-4);
//! assert!(bsd.is_outside_domain(0.01, 0.01), "it was measured from 60 ms on");
//!
//! // Many at once: the fast way.
//! let mut rates = [0.0; 2];
//! bsd.throughputs(&[0.01, 0.02], &[0.1, 0.1], &mut rates);
//!
//! // At 60 ms and no loss it is 2.77 times as fast as NT.
//! let nt = builtin("nt").expect("an alias");
//! let most = compare(&*bsd, &*nt, &[0.0, 0.1, 0.2], &[0.06, 1.0]).max_ratio(Faster::A);
//! assert!(most.is_some_and(|most| (most.factor - 2.77).abs() < 0.01));
//!
//! // One's own, from a file's text.
//! let mine = from_toml(r#"
//!     format = 1
//!     kind = "pftk-full"
//!     name = "pftk-w64"
//!     window = "64 pkt"
//! "#)?;
//! assert!(mine.throughput(0.0, 0.1) <= 640.0);
//! # Ok::<(), netflow_document::Problems>(())
//! ```
//!
//! # Properties of every profile
//!
//! - Rates are finite and positive for any arguments. Outside the [`Domain`] they are extrapolated
//!   by laws common to all TCP: a fitted power of the loss, and the same window at other round-trip
//!   times. [`Profile::provenance`] distinguishes measured rates, extrapolated rates, and rates too
//!   far away to be usable.
//! - F is **not** monotone in the loss everywhere: NetBSD's rises above 25 %, NT's between 0 and 1
//!   % at long round-trip times, and measured grids within their noise.
//! - Slices give the same bits as single evaluations. Power laws and grids use their own logarithm
//!   and exponential, so their bits are also the same on every machine; formulas use the system's.
//! - A built-in profile is created at first use, in about 0.1 ms.
//!
//! # Fits to own measurements
//!
//! [`fit`](mod@fit) computes profiles from samples of senders' traces; [`compare()`] compares two
//! profiles.
//!
//! # Profile files
//!
//! [`load`] reads a profile from a TOML file, [`to_toml`] writes one. A measured surface:
//!
//! ```toml
//! format = 1                       # the version of this format
//! kind = "grid"                    # grid, power-law, mathis, pftk-approximate, pftk-full
//! name = "lab-reno"                # its name in messages and lists
//! description = "our testbed, May" # optional: where it was measured
//! window = "64 pkt"                # optional: throughput is at most window / rtt
//! rtt = ["60 ms", "100 ms", "200 ms"]
//! throughput-unit = "pkt/s"        # or "pkt/ms"
//! rows = [                         # losses increase; one throughput for each rtt, no holes
//!   { loss = 0.01, throughput = [194, 117, 59.2] },
//!   { loss = 0.02, throughput = [135, 81.5, 40.3], extended = ["60 ms"] }, # not measured there
//! ]
//! ```
//!
//! A power law (A and B for rtt in ms and throughput in packets/ms):
//!
//! ```toml
//! format = 1
//! kind = "power-law"
//! name = "lab-fit"
//! rtt-min = "60 ms"
//! rtt-max = "5 s"
//! loss-rtt-exponent = 1e-4         # optional: the coefficient of rtt·loss in eq. 3, else 0
//! rows = [
//!   { loss = 0.01, a = 1.0240, b = 6.528 },
//!   { loss = 0.02, a = 1.0173, b = 6.165 },
//! ]
//! ```
//!
//! A formula, whose parameters are all optional:
//!
//! ```toml
//! format = 1
//! kind = "pftk-full"
//! name = "pftk-w64"
//! segments-per-ack = 2
//! timeout = "1 s"                  # not for mathis
//! window = "64 pkt"
//! ```
#![warn(missing_docs)]

mod analytic;
mod axis;
mod builtin;
mod compare;
mod domain;
mod error;
mod extrapolation;
mod file;
pub mod fit;
mod grid;
mod log_derivatives;
mod power_law;
mod profile;
mod scaled_profile;

pub use analytic::{Analytic, Formula, FormulaParameters};
pub use builtin::{DELAY_BASED, aliases, builtin, builtin_names};
pub use compare::{
    Comparison, Exceedance, FRIENDLY_FACTOR, Faster, MaxRatio, REASONABLY_FAIR_FACTOR, Region,
    common_axes, compare,
};
pub use domain::{Domain, Provenance};
pub use error::{NumberLocation, ProfileError};
pub use file::{Definition, from_toml, load, read_in, to_toml};
pub use grid::{Grid, GridRow, GridSpec};
pub use log_derivatives::LogDerivatives;
pub use power_law::{PowerLaw, PowerLawRow, PowerLawSpec};
pub use profile::{CUBIC_AMPLITUDE, Profile};
pub use scaled_profile::ScaledProfile;
