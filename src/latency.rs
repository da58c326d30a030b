//! How long a short TCP transfer takes, by each of the models of [`tcpmodel`](crate::tcpmodel), as
//! `netflow latency` tells it.

use netflow_tcpmodel::csa::Csa;
use netflow_tcpmodel::model_c::ModelC;
use netflow_tcpmodel::rounds::{self, Rounds};
use netflow_tcpmodel::rto::{ExactDistribution, MonteCarlo, MonteCarloUnless};
use netflow_tcpmodel::short::{Exponent, Short};
use netflow_tcpmodel::{CongestionControl, Error, Recovery, Stack, Transfer};
use serde::Serialize;

/// How precise the mean of played transfers is: half of its 95 % confidence interval, as a part of it.
const PRECISION: f64 = 0.01;

/// Packets that are played at most to come to that: some ten seconds of a processor.
const MOST_PACKETS_PLAYED: u64 = 30_000_000;
/// But no fewer transfers than this.
const FEWEST: u64 = 10;

/// The models.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Model {
    /// Zhang, Wang & Keshav.
    Short,
    /// Transfers of the stack, played packet by packet.
    #[default]
    Rounds,
    /// The earlier form of CSA that Zhang, Wang & Keshav compare with.
    ModelC,
    /// Cardwell, Savage & Anderson 2000.
    Csa,
}

impl Model {
    /// Every model.
    pub const ALL: [Model; 4] = [Model::Rounds, Model::Short, Model::ModelC, Model::Csa];

    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            Model::Short => "short",
            Model::Rounds => "rounds",
            Model::ModelC => "model-c",
            Model::Csa => "csa",
        }
    }

    /// The stack that it plays, or describes, by default.
    pub fn default_stack(self) -> &'static str {
        match self {
            Model::Rounds => "linux-6",
            Model::Short | Model::ModelC | Model::Csa => "linux-2.0.34",
        }
    }

    /// What it is.
    pub fn description(self) -> &'static str {
        match self {
            Model::Short => "Zhang, Wang & Keshav: handshake, slow starts and timeouts added up",
            Model::Rounds => "Transfers of the stack played packet by packet",
            Model::ModelC => {
                "The earlier form of csa that Zhang, Wang & Keshav compare with; below 50 % loss"
            }
            Model::Csa => "Cardwell, Savage & Anderson 2000; below 50 % loss",
        }
    }
}

/// A transfer that is asked about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Question {
    /// Bytes of data.
    pub size_bytes: u64,
    /// The packets that these are.
    pub packets: u64,
    /// One-way delay in seconds.
    pub delay_s: f64,
    /// Loss probability each way.
    pub loss: f64,
}

impl Question {
    /// A transfer of so many bytes in packets with so many at most.
    pub fn of(size_bytes: u64, mss_bytes: u32, delay_s: f64, loss: f64) -> Question {
        Question {
            size_bytes,
            packets: size_bytes.div_ceil(u64::from(mss_bytes.max(1))),
            delay_s,
            loss,
        }
    }

    /// As the models of formulas take it.
    pub fn transfer(&self) -> Transfer {
        Transfer {
            packets: self.packets,
            loss: self.loss,
            delay_s: self.delay_s,
        }
    }
}

/// How it is answered.
#[derive(Clone, Debug)]
pub struct Method {
    /// By which model.
    pub model: Model,
    /// The TCP implementation.
    pub stack: Stack,
    /// Payload of a full packet in bytes.
    pub mss_bytes: u32,
    /// Bits/s of the path each way, of [`Model::Rounds`]; packets take no time without.
    pub bandwidth_bps: Option<f64>,
    /// Transfers that are played. Without, [`Model::Rounds`] plays 4096 to 100 000, until the mean is known to 1 % with 95 %
    /// confidence, and fewer of large transfers: 30 million packets at most. [`Model::Short`] plays none.
    pub samples: Option<u64>,
}

impl Method {
    /// Why the model does not describe the stack, if it does not: formulas are of Reno with a small initial window, without probes.
    pub fn refused_stack(&self) -> Option<String> {
        let stack = &self.stack;
        let is_described = self.model == Model::Rounds
            || stack.congestion == CongestionControl::Reno
                && stack.recovery == Recovery::Reno
                && !stack.tail_loss_probe
                && stack.initial_window_pkts <= 2;
        (!is_described).then(|| {
            format!(
                "the model {} describes Reno with an initial window of 2 packets or less, not {}",
                self.model.name(),
                stack.name
            )
        })
    }

    /// The setting that is given and has no effect on the model, if one is.
    pub fn unused(&self) -> Option<&'static str> {
        let is_formula = matches!(self.model, Model::ModelC | Model::Csa);
        if self.bandwidth_bps.is_some() && self.model != Model::Rounds {
            return Some("bandwidth");
        }
        (self.samples.is_some() && is_formula).then_some("samples")
    }
}

/// An answer with its question. What a model does not say is absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Answer {
    /// What was asked.
    #[serde(flatten)]
    pub question: Question,
    /// The probability that a packet or its acknowledgement is lost.
    pub effective_loss: f64,
    /// Mean latency in seconds.
    pub mean_s: f64,
    /// Of the mean; 0 where it is exact.
    pub standard_error_s: f64,
    /// Standard deviation in seconds.
    pub std_s: Option<f64>,
    /// What half of all transfers take at most, in seconds.
    pub median_s: Option<f64>,
    /// What 90 % take at most.
    pub p90_s: Option<f64>,
    /// What 99 % take at most.
    pub p99_s: Option<f64>,
    /// Seconds of the mean until the connection is there.
    pub handshake_s: f64,
    /// Seconds of the mean that pass in timeouts.
    pub timeout_s: f64,
    /// The other seconds of the mean.
    pub transfer_s: f64,
    /// The mean with the loss of one way only (Model C and CSA).
    pub mean_low_s: Option<f64>,
    /// How many transfers were played; 0 where none was.
    pub samples: u64,
}

/// What a model says about one transfer.
///
/// # Errors
/// If the model does not know such transfers.
pub fn latency(method: &Method, question: &Question) -> Result<Answer, Error> {
    latency_unless(method, question, &|| false)
}

/// The same, but once `stop` says so no more transfers are played: [`Answer::samples`] says how many were.
///
/// # Errors
/// As [`latency`].
pub fn latency_unless(
    method: &Method,
    question: &Question,
    stop: &(dyn Fn() -> bool + Sync),
) -> Result<Answer, Error> {
    match method.model {
        Model::Short => short(method, question, stop),
        Model::Rounds => rounds(method, question, stop),
        Model::ModelC => model_c(method, question),
        Model::Csa => csa(method, question),
    }
}

fn short(
    method: &Method,
    question: &Question,
    stop: &(dyn Fn() -> bool + Sync),
) -> Result<Answer, Error> {
    let short = Short::new(&method.stack, &question.transfer(), Exponent::Printed)?;
    let latency = match method.samples {
        None => short.latency(&ExactDistribution)?,
        Some(trials) => {
            let monte_carlo = MonteCarlo {
                trials,
                ..MonteCarlo::default()
            };
            short.latency(&MonteCarloUnless { monte_carlo, stop })?
        }
    };
    let quantile = |q| {
        let distribution = latency.distribution.as_ref();
        distribution.map(|times| times.quantile(q))
    };
    Ok(Answer {
        mean_s: latency.mean_s,
        standard_error_s: latency.standard_error_s,
        std_s: Some(latency.std_s),
        median_s: quantile(0.5),
        p90_s: quantile(0.9),
        p99_s: quantile(0.99),
        handshake_s: latency.handshake_s,
        timeout_s: latency.timeout_s,
        transfer_s: latency.transfer_s,
        samples: latency.trials,
        ..Answer::to(question)
    })
}

fn rounds(
    method: &Method,
    question: &Question,
    stop: &(dyn Fn() -> bool + Sync),
) -> Result<Answer, Error> {
    let transfer = rounds::Transfer {
        loss_forward: question.loss,
        loss_back: question.loss,
        bandwidth_bps: method.bandwidth_bps,
        ..rounds::Transfer::push(question.size_bytes, method.mss_bytes, question.delay_s)
    };
    let rounds = Rounds {
        stack: method.stack.clone(),
        transfer,
    };
    let mut options = rounds::Options::default();
    match method.samples {
        Some(samples) => options.trials = samples,
        None => {
            options.precision = Some(PRECISION);
            let most = (MOST_PACKETS_PLAYED / question.packets.max(1)).max(FEWEST);
            options.trials = options.trials.min(most);
        }
    }
    let latency = rounds.solve_unless(&options, stop)?;
    Ok(Answer {
        mean_s: latency.mean_s(),
        standard_error_s: latency.standard_error_s(),
        std_s: Some(latency.std_s()),
        median_s: Some(latency.quantile(0.5)),
        p90_s: Some(latency.quantile(0.9)),
        p99_s: Some(latency.quantile(0.99)),
        handshake_s: latency.handshake_s(),
        timeout_s: latency.timeout_s(),
        transfer_s: latency.transfer_s(),
        samples: latency.trials() as u64,
        ..Answer::to(question)
    })
}

fn model_c(method: &Method, question: &Question) -> Result<Answer, Error> {
    let transfer = question.transfer();
    let with = |loss| ModelC::new(&method.stack, &transfer, loss).solve();
    let high = with(transfer.effective_loss())?;
    Ok(Answer {
        mean_s: high.total_s(),
        handshake_s: high.handshake_s,
        timeout_s: high.timeout_s,
        transfer_s: high.transfer_s,
        mean_low_s: Some(with(transfer.loss)?.total_s()),
        ..Answer::to(question)
    })
}

fn csa(method: &Method, question: &Question) -> Result<Answer, Error> {
    let transfer = question.transfer();
    let with = |loss| Csa::new(&method.stack, &transfer, loss).solve();
    let high = with(transfer.effective_loss())?;
    Ok(Answer {
        mean_s: high.total_s(),
        handshake_s: high.handshake_s,
        timeout_s: high.timeout_s,
        transfer_s: high.total_s() - high.handshake_s - high.timeout_s,
        mean_low_s: Some(with(transfer.loss)?.total_s()),
        ..Answer::to(question)
    })
}

impl Answer {
    /// The question, without an answer.
    fn to(question: &Question) -> Answer {
        Answer {
            question: *question,
            effective_loss: question.transfer().effective_loss(),
            ..Answer::default()
        }
    }
}
