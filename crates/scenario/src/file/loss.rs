//! `loss` in `[[link]]` and in what events set

use netflow_document::{ProblemKind, Section, Spanned, table};
use netflow_queues::{BitErrors, GilbertElliott, LinkLoss, LossError, Outages};
use schemars::JsonSchema;
use serde::Serialize;

use super::scalar_or_table::scalar_or_table;
use super::{Time, allowed};

/// Loss of a link after the queue.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum LossSetting {
    /// Each packet independently, with this probability: `0.01` or `"1 %"`.
    Random(f64),
    /// Several independent causes of loss.
    Causes(Box<LossCauses>),
}

/// Independent causes of loss.
#[table(check = check_loss)]
pub struct LossCauses {
    /// Probability of independent packet loss.
    #[key(allowed = allowed::LOSS, example = "1 %")]
    pub random: Option<Spanned<f64>>,
    /// Bursts of losses.
    #[key(example = "{ p = 0.01, r = 0.25 }")]
    pub gilbert: Option<Spanned<Gilbert>>,
    /// Outages that last some time, however many packets there are.
    #[key(example = "{ interval = \"30 s\", duration = \"200 ms\" }")]
    pub outages: Option<Spanned<OutageSettings>>,
    /// Bit error rate; packets with an error are lost.
    #[key(allowed = allowed::BER, example = 1e-6)]
    pub ber: Option<Spanned<f64>>,
    /// Mean length of an error burst in bits. Default: independent errors.
    #[key(allowed = allowed::BURST, example = 16)]
    pub burst: Option<Spanned<f64>>,
}

/// Two-state Markov chain (Gilbert and Elliott): a good and a bad state, with one transition before every packet.
#[table]
pub struct Gilbert {
    /// Probability of a transition from good to bad.
    #[key(allowed = allowed::PROBABILITY, example = 0.01, fallback = 0.0)]
    pub p: Spanned<f64>,
    /// Probability of a transition from bad to good.
    #[key(allowed = allowed::FRACTION, example = 0.25)]
    pub r: Spanned<f64>,
    /// Loss probability in the good state. Default: 0.
    #[key(allowed = allowed::LOSS, example = 0.0)]
    pub good: Option<Spanned<f64>>,
    /// Loss probability in the bad state. Default: 1.
    #[key(allowed = allowed::PROBABILITY, example = 1.0)]
    pub bad: Option<Spanned<f64>>,
}

/// Outages: times between them and durations are exponentially distributed.
#[table]
#[schemars(rename = "Outages")]
pub struct OutageSettings {
    /// Mean time from the end of an outage to the start of the next.
    #[key(allowed = allowed::OUTAGE, example = "30 s")]
    pub interval: Time,
    /// Mean duration of an outage.
    #[key(allowed = allowed::OUTAGE, example = "200 ms")]
    pub duration: Time,
    /// Loss probability in an outage. Default: 1.
    #[key(allowed = allowed::PROBABILITY, example = 0.5)]
    pub loss: Option<Spanned<f64>>,
}

impl LossSetting {
    /// As links have it; nothing where its numbers do not go together, which was refused when it was read.
    pub fn to_link_loss(&self) -> LinkLoss {
        match self {
            LossSetting::Random(random) => LinkLoss::from(*random),
            LossSetting::Causes(causes) => causes.link_loss().unwrap_or_default(),
        }
    }
}

impl LossCauses {
    fn link_loss(&self) -> Result<LinkLoss, LossError> {
        let LossCauses {
            random,
            gilbert,
            outages,
            ber,
            burst,
        } = self;
        let outages = outages.as_ref().map(|it| {
            let loss = it.loss.as_deref().copied().unwrap_or(1.0);
            Outages::new(it.interval.get(), it.duration.get(), loss)
        });
        let gilbert = gilbert.as_ref().map(|it| {
            let Gilbert { p, r, good, bad } = &**it;
            let or = |given: &Option<Spanned<f64>>, default| {
                given.as_deref().copied().unwrap_or(default)
            };
            GilbertElliott::new(**p, **r, or(good, 0.0), or(bad, 1.0))
        });
        let bit_errors = ber.as_deref().map(|&ber| match burst.as_deref() {
            None => BitErrors::independent(ber),
            Some(&bits) => BitErrors::in_bursts(ber, bits),
        });
        Ok(LinkLoss {
            random: random.as_deref().copied().unwrap_or(0.0),
            gilbert: gilbert.transpose()?,
            bit_errors: bit_errors.transpose()?,
            outages: outages.transpose()?,
        })
    }
}

fn check_loss(causes: &mut LossCauses, s: &mut Section<'_, '_>) {
    let place = s.place();
    if let (Some(burst), None) = (&causes.burst, &causes.ber) {
        let message = "`burst` needs a bit error rate, but `ber` is missing";
        s.findings
            .error(ProblemKind::Conflict, burst.place(), message)
            .set_help("add `ber = 1e-6`, or leave out `burst`");
    }
    if let Err(error) = causes.link_loss() {
        s.findings
            .error(ProblemKind::OutOfRange, place, error.to_string());
    }
}

scalar_or_table!(
    LossSetting,
    "a fraction below 1, or a table",
    Random(allowed::LOSS),
    Causes(LossCauses),
    0.0
);
