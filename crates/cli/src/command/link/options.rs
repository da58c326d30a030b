//! Command-line options of an emulated link.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};
use netflow::units::{Rate, Seconds, Size};
use netflow_testbed::{
    BitErrors, Capture, DirectionOptions, End, GilbertElliott, LinkLoss, LinkOptions, OptionError,
};

use crate::failure::Failure;
use crate::output::file;
use crate::parse::{gilbert, loss, probability, quantity, time_from_zero};

/// A link. An option holds for both directions; with -back, for that from b to a.
#[derive(Args)]
#[command(next_help_heading = "Link")]
pub struct LinkArguments {
    /// One-way propagation delay
    #[arg(long, value_name = "TIME", value_parser = time_from_zero, default_value = "0 s")]
    delay: f64,

    /// Propagation delay from b to a [default: as from a to b]
    #[arg(long, value_name = "TIME", value_parser = time_from_zero)]
    delay_back: Option<f64>,

    /// Transmission rate in bits (of IP packets) or packets per second; without it, packets are
    /// sent at once
    #[arg(long, value_name = "RATE", value_parser = quantity::<Rate>)]
    rate: Option<Rate>,

    /// Rate from b to a [default: as from a to b]
    #[arg(long, value_name = "RATE", value_parser = quantity::<Rate>)]
    rate_back: Option<Rate>,

    /// Buffer size, including the packet in transmission, if there is a rate; excess packets are
    /// dropped
    #[arg(long, value_name = "SIZE", value_parser = quantity::<Size>, default_value = "100 pkt")]
    buffer: Size,

    /// Buffer size from b to a [default: as from a to b]
    #[arg(long, value_name = "SIZE", value_parser = quantity::<Size>)]
    buffer_back: Option<Size>,

    /// Loss probability of each packet, independent of other packets
    #[arg(long, value_name = "P", value_parser = loss, default_value = "0")]
    loss: f64,

    /// Loss from b to a [default: as from a to b]
    #[arg(long, value_name = "P", value_parser = loss)]
    loss_back: Option<f64>,

    /// Burst losses (Gilbert & Elliott): probabilities of changing to the bad state (p) and back to
    /// the good state (r), and of loss in either state: p=1%,r=25%[,bad=100%][,good=0%]. Long-run
    /// loss: (r·good + p·bad)/(p + r)
    #[arg(long, value_name = "LIST", value_parser = gilbert)]
    loss_gilbert: Option<GilbertElliott>,

    /// Burst losses from b to a [default: as from a to b]
    #[arg(long, value_name = "LIST", value_parser = gilbert)]
    loss_gilbert_back: Option<GilbertElliott>,

    /// Bit error rate; a packet with an error is lost: 1 - (1 - BER)^(8·bytes)
    #[arg(long, value_name = "BER", value_parser = probability)]
    ber: Option<f64>,

    /// Bit error rate from b to a [default: as from a to b]
    #[arg(long, value_name = "BER", value_parser = probability)]
    ber_back: Option<f64>,

    /// Mean length of bit error bursts in bits; the loss is then 1 - (1 - BER)·(1 - q)^(8·bytes -
    /// 1) with q = BER/(BITS·(1 - BER))
    #[arg(long, value_name = "BITS")]
    ber_burst: Option<f64>,

    /// Largest IP packet in bytes
    #[arg(long, value_name = "BYTES", default_value_t = 1500)]
    mtu: u16,

    /// Random seed of losses: equal seeds lose the same packets
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// Capture the packets that one end sends and receives (pcap, nanoseconds, raw IP)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pcap: Option<PathBuf>,

    /// End at which packets are captured
    #[arg(long, value_enum, default_value_t, requires = "pcap")]
    pcap_end: EndArgument,
}

/// Bytes of a packet that a capture keeps: enough for all headers.
const SNAP_BYTES: u32 = 128;

#[derive(Clone, Copy, Default, ValueEnum)]
enum EndArgument {
    #[default]
    A,
    B,
}

impl LinkArguments {
    pub fn options(&self) -> Result<LinkOptions, Failure> {
        if let Some(path) = &self.pcap {
            file::check_overwrite(path, None)?;
        }
        Ok(self.checked().map_err(netflow_testbed::Error::from)?)
    }

    fn checked(&self) -> Result<LinkOptions, OptionError> {
        let errors = |ber: Option<f64>| match (ber, self.ber_burst) {
            (None, _) => Ok(None),
            (Some(ber), None) => BitErrors::independent(ber).map(Some),
            (Some(ber), Some(bits)) => BitErrors::in_bursts(ber, bits).map(Some),
        };
        let out = DirectionOptions {
            delay: Seconds(self.delay),
            rate: self.rate,
            buffer: self.buffer,
            loss: LinkLoss {
                random: self.loss,
                gilbert: self.loss_gilbert,
                bit_errors: errors(self.ber)?,
                outages: None,
            },
        };
        let back = DirectionOptions {
            delay: Seconds(self.delay_back.unwrap_or(self.delay)),
            rate: self.rate_back.or(self.rate),
            buffer: self.buffer_back.unwrap_or(self.buffer),
            loss: LinkLoss {
                random: self.loss_back.unwrap_or(self.loss),
                gilbert: self.loss_gilbert_back.or(self.loss_gilbert),
                bit_errors: errors(self.ber_back.or(self.ber))?,
                outages: None,
            },
        };
        let capture = self.pcap.as_ref().map(|path| Capture {
            path: path.clone(),
            end: match self.pcap_end {
                EndArgument::A => End::A,
                EndArgument::B => End::B,
            },
            snap_bytes: SNAP_BYTES,
        });
        let options = LinkOptions {
            out,
            back,
            extra_path_delay: None,
            mtu: self.mtu,
            seed: self.seed,
            capture,
        };
        options.check()?;
        Ok(options)
    }
}
