//! Options that select the simulated users.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use netflow_ipb::Load;
use netflow_workload::{Application, Http, Telnet, Workload};

use crate::failure::Failure;
use crate::parse::users_per_s;

/// Users of the web and of terminals.
#[derive(Args)]
pub struct UsersArguments {
    /// Arrival rate of web users, such as 2/s or 30/min [default: 1/s; none if --telnet is given]
    #[arg(long, value_name = "RATE", value_parser = users_per_s, allow_hyphen_values = true)]
    http: Option<f64>,

    /// Arrival rate of terminal users [default: 6/min; none if --http is given]
    #[arg(long, value_name = "RATE", value_parser = users_per_s, allow_hyphen_values = true)]
    telnet: Option<f64>,

    /// Play the users of the [[workload]] tables in this file, for example a scenario
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    #[arg(conflicts_with_all = ["http", "telnet"])]
    workload: Option<PathBuf>,

    /// Random seed of the users
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,

    /// Factor for think and typing times, such as 0.01 for a quick run
    #[arg(
        long,
        value_name = "X",
        default_value_t = 1.0,
        allow_hyphen_values = true
    )]
    pub think_scale: f64,
}

/// A load with its kind of users or the name of its workload.
pub struct NamedLoad {
    pub name: String,
    pub load: Load,
}

impl UsersArguments {
    /// Returns the loads: the workloads of the file, or those of \[IPB\].
    pub fn loads(&self) -> Result<Vec<NamedLoad>, Failure> {
        if let Some(path) = &self.workload {
            let workloads = netflow::scenario::workloads(path);
            let workloads = workloads.map_err(|problems| Failure::Input(problems.into()))?;
            let named = workloads.into_iter().map(|workload| {
                let rate = 1.0 / workload.interarrival_s;
                self.named_load(workload.name, workload.application, rate)
            });
            return Ok(named.collect());
        }
        let (http, telnet) = match (self.http, self.telnet) {
            (None, None) => (Some(1.0), Some(0.1)),
            given => given,
        };
        let http = http.map(|rate| (Application::Http(Http::default()), rate));
        let telnet = telnet.map(|rate| (Application::Telnet(Telnet::default()), rate));
        let named = |(application, rate): (Application, f64)| {
            let name = application.kind().name().to_owned();
            self.named_load(name, application, rate)
        };
        Ok(http.into_iter().chain(telnet).map(named).collect())
    }

    fn named_load(&self, name: String, application: Application, users_per_s: f64) -> NamedLoad {
        let workload = Workload {
            application,
            seed: self.seed,
        };
        NamedLoad {
            name,
            load: Load {
                workload,
                users_per_s,
            },
        }
    }
}
