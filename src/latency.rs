//! What a model says about one transfer.

use netflow::tcpmodel::csa::Csa;
use netflow::tcpmodel::model_c::ModelC;
use netflow::tcpmodel::rounds::{self, Rounds};
use netflow::tcpmodel::rto::{ExactDistribution, MonteCarlo};
use netflow::tcpmodel::short::{Exponent, Short};
use netflow::tcpmodel::{Error, Transfer};
use serde::Serialize;

use super::{Method, Model, Question};
use crate::failure::Failure;

/// An answer with its question. What a model does not say is absent.
#[derive(Debug, Serialize)]
pub struct Answer {
    pub size_bytes: u64,
    pub packets: u64,
    pub delay_s: f64,
    pub loss: f64,
    /// The probability that a packet or its acknowledgement is lost.
    pub effective_loss: f64,
    pub mean_s: f64,
    /// Of the mean; 0 where it is exact.
    pub standard_error_s: f64,
    pub std_s: Option<f64>,
    pub median_s: Option<f64>,
    pub p90_s: Option<f64>,
    pub p99_s: Option<f64>,
    pub handshake_s: f64,
    pub timeout_s: f64,
    pub transfer_s: f64,
    /// The mean with the loss of one way only (Model C and CSA).
    pub mean_low_s: Option<f64>,
    /// How many transfers were played; 0 where none was.
    pub samples: u64,
}

/// Transfers that --model rounds plays unless told otherwise.
const SAMPLES: u64 = 100_000;

pub fn answer(method: &Method, question: &Question) -> Result<Answer, Failure> {
    let result = match method.model {
        Model::Short => short(method, question),
        Model::Rounds => rounds(method, question),
        Model::ModelC => model_c(method, question),
        Model::Csa => csa(method, question),
    };
    result.map_err(|error| Failure::Usage {
        help: match (method.model, error.what) {
            (Model::ModelC | Model::Csa, "loss probability") => Some(format!(
                "{} % is the probability that a packet or its acknowledgement is lost; \
                 --model short and --model rounds know more loss",
                netflow::number::plain(100.0 * transfer(question).effective_loss())
            )),
            (Model::Short, "number of packets") if question.packets <= MOST_PACKETS => {
                Some("--samples 1000 plays transfers at random instead".to_owned())
            }
            _ => None,
        },
        message: error.to_string(),
    })
}

/// What the models take; a longer transfer is none that --samples helps with.
const MOST_PACKETS: u64 = 10_000_000;

fn transfer(question: &Question) -> Transfer {
    Transfer {
        packets: question.packets,
        loss: question.loss,
        delay_s: question.delay_s,
    }
}

fn short(method: &Method, question: &Question) -> Result<Answer, Error> {
    let short = Short::new(&method.stack, &transfer(question), Exponent::Printed)?;
    let latency = match method.samples {
        None => short.latency(&ExactDistribution)?,
        Some(trials) => short.latency(&MonteCarlo {
            trials,
            ..MonteCarlo::default()
        })?,
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

fn rounds(method: &Method, question: &Question) -> Result<Answer, Error> {
    let transfer = rounds::Transfer {
        loss_forward: question.loss,
        loss_back: question.loss,
        bandwidth_bps: method.bandwidth_bps,
        ..rounds::Transfer::push(question.bytes, method.mss_bytes, question.delay_s)
    };
    let rounds = Rounds {
        stack: method.stack.clone(),
        transfer,
    };
    let latency = rounds.solve(&rounds::Options {
        trials: method.samples.unwrap_or(SAMPLES),
        ..rounds::Options::default()
    })?;
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
    let transfer = transfer(question);
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
    let transfer = transfer(question);
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
            size_bytes: question.bytes,
            packets: question.packets,
            delay_s: question.delay_s,
            loss: question.loss,
            effective_loss: transfer(question).effective_loss(),
            mean_s: 0.0,
            standard_error_s: 0.0,
            std_s: None,
            median_s: None,
            p90_s: None,
            p99_s: None,
            handshake_s: 0.0,
            timeout_s: 0.0,
            transfer_s: 0.0,
            mean_low_s: None,
            samples: 0,
        }
    }
}
