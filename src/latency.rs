//! Latency of a short TCP transfer by each of the models of [`tcpmodel`](crate::tcpmodel), as in
//! `netflow latency`.

use netflow_tcpmodel::csa::Csa;
use netflow_tcpmodel::model_c::ModelC;
use netflow_tcpmodel::rto::{ExactDistribution, InterruptibleMonteCarlo, MonteCarlo};
use netflow_tcpmodel::short::{Exponent, Short};
use netflow_tcpmodel::transfer_simulation::{self, TransferSimulation};
use netflow_tcpmodel::{CongestionControl, Error, Recovery, Stack, Transfer};
use serde::Serialize;

/// Target precision of the mean of simulated transfers: half of the 95 % confidence interval,
/// relative.
const PRECISION: f64 = 0.01;

/// Maximum number of simulated packets for this precision: about 10 s of CPU time.
const MAX_SIMULATED_PACKETS: u64 = 30_000_000;
/// Minimum number of simulated transfers.
const MIN_TRANSFERS: u64 = 10;

/// Latency model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Model {
    /// Zhang, Wang & Keshav.
    Short,
    /// Packet-by-packet simulation of the stack's transfers.
    #[default]
    Simulated,
    /// Model C, the earlier form of CSA with which Zhang, Wang & Keshav compare.
    ModelC,
    /// Cardwell, Savage & Anderson 2000.
    Csa,
}

impl Model {
    /// All models.
    pub const ALL: [Model; 4] = [Model::Simulated, Model::Short, Model::ModelC, Model::Csa];

    /// Returns the name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Model::Short => "short",
            Model::Simulated => "rounds",
            Model::ModelC => "model-c",
            Model::Csa => "csa",
        }
    }

    /// Returns the default stack that the model simulates or describes.
    pub fn default_stack(self) -> &'static str {
        match self {
            Model::Simulated => "linux-6",
            Model::Short | Model::ModelC | Model::Csa => "linux-2.0.34",
        }
    }

    /// Returns a one-line description.
    pub fn description(self) -> &'static str {
        match self {
            Model::Short => "Zhang, Wang & Keshav: sum of handshake, slow starts and timeouts",
            Model::Simulated => "Packet-by-packet simulation of transfers of the stack",
            Model::ModelC => {
                "Earlier form of csa, used for comparison by Zhang, Wang & Keshav; below 50 % loss"
            }
            Model::Csa => "Cardwell, Savage & Anderson 2000; below 50 % loss",
        }
    }
}

/// Transfer whose latency is computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct LatencyInput {
    /// Bytes of data.
    pub size_bytes: u64,
    /// Number of data packets.
    pub packets: u64,
    /// One-way delay in seconds.
    pub delay_s: f64,
    /// Loss probability in each direction.
    pub loss: f64,
}

impl LatencyInput {
    /// Returns a transfer of `size_bytes` in packets with at most `mss_bytes` of payload.
    pub fn of(size_bytes: u64, mss_bytes: u32, delay_s: f64, loss: f64) -> LatencyInput {
        LatencyInput {
            size_bytes,
            packets: size_bytes.div_ceil(u64::from(mss_bytes.max(1))),
            delay_s,
            loss,
        }
    }

    /// Returns the transfer as the analytical models use it.
    pub fn transfer(&self) -> Transfer {
        Transfer {
            packets: self.packets,
            loss: self.loss,
            delay_s: self.delay_s,
        }
    }
}

/// Model and parameters of the computation.
#[derive(Clone, Debug)]
pub struct Method {
    /// Latency model.
    pub model: Model,
    /// The TCP implementation.
    pub stack: Stack,
    /// Payload of a full packet in bytes.
    pub mss_bytes: u32,
    /// Bandwidth of the path in each direction in bit/s, for [`Model::Simulated`]; `None`: no
    /// transmission times.
    pub bandwidth_bps: Option<f64>,
    /// Number of simulated transfers.
    ///
    /// By default, [`Model::Simulated`] simulates 4096 to 100 000 transfers until the mean has a
    /// precision of 1 % with 95 % confidence. It simulates fewer large transfers: at most 30
    /// million packets. [`Model::Short`] simulates none.
    pub samples: Option<u64>,
}

impl Method {
    /// Returns the reason why the model does not describe the stack, if any. Formulas describe Reno
    /// with a small initial window, without probes.
    pub fn unsupported_stack_reason(&self) -> Option<String> {
        let stack = &self.stack;
        let is_described = self.model == Model::Simulated
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

    /// Returns a given setting without effect on the model, if any.
    pub fn unused(&self) -> Option<&'static str> {
        let is_formula = matches!(self.model, Model::ModelC | Model::Csa);
        if self.bandwidth_bps.is_some() && self.model != Model::Simulated {
            return Some("bandwidth");
        }
        (self.samples.is_some() && is_formula).then_some("samples")
    }
}

/// Result of a latency computation. Values that the model does not provide are absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LatencyResult {
    /// The transfer.
    #[serde(flatten)]
    pub question: LatencyInput,
    /// The probability that a packet or its acknowledgement is lost.
    pub effective_loss: f64,
    /// Mean latency in seconds.
    pub mean_s: f64,
    /// Standard error of the mean in seconds; 0 if the mean is exact.
    pub standard_error_s: f64,
    /// Standard deviation in seconds.
    pub std_s: Option<f64>,
    /// Median latency in seconds.
    pub median_s: Option<f64>,
    /// 90th percentile of the latency in seconds.
    pub p90_s: Option<f64>,
    /// 99th percentile of the latency in seconds.
    pub p99_s: Option<f64>,
    /// Mean time of the handshake in seconds.
    pub handshake_s: f64,
    /// Mean time in timeouts in seconds.
    pub timeout_s: f64,
    /// Remaining mean time in seconds.
    pub transfer_s: f64,
    /// Mean with loss in one direction only, in seconds (Model C and CSA).
    pub mean_low_s: Option<f64>,
    /// Number of simulated transfers; 0 if there were none.
    pub samples: u64,
}

/// Computes the latency of one transfer.
///
/// # Errors
/// If the model does not support the transfer.
pub fn latency(method: &Method, question: &LatencyInput) -> Result<LatencyResult, Error> {
    latency_with_stop(method, question, &|| false)
}

/// Computes the latency, but simulates no more transfers after `stop` becomes true; see
/// [`LatencyResult::samples`].
///
/// # Errors
/// As [`latency`].
pub fn latency_with_stop(
    method: &Method,
    question: &LatencyInput,
    stop: &(dyn Fn() -> bool + Sync),
) -> Result<LatencyResult, Error> {
    match method.model {
        Model::Short => short(method, question, stop),
        Model::Simulated => simulated(method, question, stop),
        Model::ModelC => model_c(method, question),
        Model::Csa => csa(method, question),
    }
}

fn short(
    method: &Method,
    question: &LatencyInput,
    stop: &(dyn Fn() -> bool + Sync),
) -> Result<LatencyResult, Error> {
    let short = Short::new(&method.stack, &question.transfer(), Exponent::Printed)?;
    let latency = match method.samples {
        None => short.latency(&ExactDistribution)?,
        Some(trials) => {
            let monte_carlo = MonteCarlo {
                trials,
                ..MonteCarlo::default()
            };
            short.latency(&InterruptibleMonteCarlo { monte_carlo, stop })?
        }
    };
    let quantile = |q| {
        let distribution = latency.distribution.as_ref();
        distribution.map(|times| times.quantile(q))
    };
    Ok(LatencyResult {
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
        ..LatencyResult::empty_result(question)
    })
}

fn simulated(
    method: &Method,
    question: &LatencyInput,
    stop: &(dyn Fn() -> bool + Sync),
) -> Result<LatencyResult, Error> {
    let transfer = transfer_simulation::Transfer {
        loss_forward: question.loss,
        loss_back: question.loss,
        bandwidth_bps: method.bandwidth_bps,
        ..transfer_simulation::Transfer::push(
            question.size_bytes,
            method.mss_bytes,
            question.delay_s,
        )
    };
    let simulation = TransferSimulation {
        stack: method.stack.clone(),
        transfer,
    };
    let mut options = transfer_simulation::Options::default();
    match method.samples {
        Some(samples) => options.trials = samples,
        None => {
            options.precision = Some(PRECISION);
            let most = (MAX_SIMULATED_PACKETS / question.packets.max(1)).max(MIN_TRANSFERS);
            options.trials = options.trials.min(most);
        }
    }
    let latency = simulation.solve_interruptible(&options, stop)?;
    Ok(LatencyResult {
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
        ..LatencyResult::empty_result(question)
    })
}

fn model_c(method: &Method, question: &LatencyInput) -> Result<LatencyResult, Error> {
    let transfer = question.transfer();
    let with = |loss| ModelC::new(&method.stack, &transfer, loss).solve();
    let high = with(transfer.effective_loss())?;
    Ok(LatencyResult {
        mean_s: high.total_s(),
        handshake_s: high.handshake_s,
        timeout_s: high.timeout_s,
        transfer_s: high.transfer_s,
        mean_low_s: Some(with(transfer.loss)?.total_s()),
        ..LatencyResult::empty_result(question)
    })
}

fn csa(method: &Method, question: &LatencyInput) -> Result<LatencyResult, Error> {
    let transfer = question.transfer();
    let with = |loss| Csa::new(&method.stack, &transfer, loss).solve();
    let high = with(transfer.effective_loss())?;
    Ok(LatencyResult {
        mean_s: high.total_s(),
        handshake_s: high.handshake_s,
        timeout_s: high.timeout_s,
        transfer_s: high.total_s() - high.handshake_s - high.timeout_s,
        mean_low_s: Some(with(transfer.loss)?.total_s()),
        ..LatencyResult::empty_result(question)
    })
}

impl LatencyResult {
    /// Returns an empty result for this transfer.
    fn empty_result(question: &LatencyInput) -> LatencyResult {
        LatencyResult {
            question: *question,
            effective_loss: question.transfer().effective_loss(),
            ..LatencyResult::default()
        }
    }
}
