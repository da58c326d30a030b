//! Results of the study as a page.

use std::fmt::Write;

use netflow_results::{AccuracyBounds, TestedTcp};

use crate::errors::{Errors, quantile};
use crate::family::Family;
use crate::ns2_comparison::{NetworkComparison, Ns2Errors};
use crate::scaled::{self, ScaledErrors};
use crate::{ModelErrors, NetworkErrors};

/// Medians over networks.
#[derive(Clone, Copy, Debug)]
pub struct Medians {
    pub networks: usize,
    pub queues: f64,
    pub goodput: f64,
    pub goodput_p90: f64,
    /// 10th percentile, median and 90th percentile.
    pub lost: [f64; 3],
    pub link_loss: f64,
    pub rtt: f64,
    pub utilization: f64,
    /// Errors of one packet run relative to the mean of three: queues, goodput and its 90th
    /// percentile.
    pub own: [f64; 3],
    /// Run times of the model and of one packet run, summed over all networks, in seconds.
    pub wall_time_s: f64,
    pub packets_s: f64,
}

/// Selector of a model's results.
type ModelSelector = fn(&NetworkErrors) -> ModelErrors;

const FLUID: ModelSelector = |it| it.fluid;
const CALIBRATED: [ModelSelector; 2] = [|it| it.calibrated[0], |it| it.calibrated[1]];

/// Returns the medians of the fluid model, in one family or in all.
pub fn medians(all: &[NetworkErrors], family: Option<Family>) -> Medians {
    medians_of(all, family, FLUID)
}

/// Returns the medians of the calibrated fluid model for the shorter and the longer measurement.
pub fn medians_calibrated(all: &[NetworkErrors]) -> [Medians; 2] {
    CALIBRATED.map(|way| medians_of(all, None, way))
}

fn medians_of(all: &[NetworkErrors], family: Option<Family>, way: ModelSelector) -> Medians {
    let of_family =
        |found: &&NetworkErrors| family.is_none_or(|family| found.draw.family == family);
    let found: Vec<&NetworkErrors> = all.iter().filter(of_family).collect();
    let part = |of: &dyn Fn(&Errors) -> Option<f64>, part: f64| {
        quantile(
            found.iter().filter_map(|it| of(&way(it).errors)).collect(),
            part,
        )
    };
    let own = |of: fn(&Errors) -> f64| {
        let runs = found.iter().flat_map(|it| &it.spread);
        quantile(runs.map(of).collect(), 0.5)
    };
    Medians {
        networks: found.len(),
        queues: part(&|e| Some(e.queues), 0.5),
        goodput: part(&|e| Some(e.goodput), 0.5),
        goodput_p90: part(&|e| Some(e.goodput_p90), 0.5),
        lost: [0.1, 0.5, 0.9].map(|p| part(&|e| e.lost, p)),
        link_loss: part(&|e| e.link_loss, 0.5),
        rtt: part(&|e| Some(e.rtt), 0.5),
        utilization: part(&|e| Some(e.utilization), 0.5),
        own: [
            own(|e| e.queues),
            own(|e| e.goodput),
            own(|e| e.goodput_p90),
        ],
        wall_time_s: found.iter().map(|it| way(it).wall_time_s).sum(),
        packets_s: found.iter().map(|it| it.packets_s).sum(),
    }
}

fn families() -> impl Iterator<Item = (&'static str, Option<Family>)> {
    let one = Family::ALL
        .into_iter()
        .map(|family| (family.name(), Some(family)));
    one.chain([("all", None)])
}

/// Returns the table of families.
pub fn table(found: &[NetworkErrors]) -> String {
    table_of(found, FLUID)
}

fn table_of(found: &[NetworkErrors], way: ModelSelector) -> String {
    let mut out = String::from(
        "| family | networks | longest queues | goodput: median | goodput: 90th percentile | lost packets: 10, 50, 90 % of networks | loss of a link, factor | RTT | utilization, largest error |\n\
         |---|---|---|---|---|---|---|---|---|\n",
    );
    for (name, family) in families() {
        let m = medians_of(found, family, way);
        let [queues, goodput, p90] = m.own;
        let [low, median, high] = m.lost;
        let _ = writeln!(
            out,
            "| {name} | {} | {:.3} ({queues:.3}) | {:.3} ({goodput:.3}) | {:.3} ({p90:.3}) | {low:.2}, {median:.2}, {high:.2} | {:.2} | {:.3} | {:.3} |",
            m.networks, m.queues, m.goodput, m.goodput_p90, m.link_loss, m.rtt, m.utilization,
        );
    }
    out
}

/// Returns the distribution of errors over networks.
pub fn spread(found: &[NetworkErrors]) -> String {
    spread_of(found, FLUID)
}

fn spread_of(found: &[NetworkErrors], way: ModelSelector) -> String {
    let mut out = String::from(
        "| of all networks | longest queues | goodput: median | goodput: 90th percentile |\n|---|---|---|---|\n",
    );
    for part in [0.1, 0.25, 0.5, 0.75, 0.9, 0.97] {
        let of = |which: fn(&Errors) -> f64| {
            quantile(
                found.iter().map(|it| which(&way(it).errors)).collect(),
                part,
            )
        };
        let _ = writeln!(
            out,
            "| {:.0} % are below | {:.3} | {:.3} | {:.3} |",
            100.0 * part,
            of(|e| e.queues),
            of(|e| e.goodput),
            of(|e| e.goodput_p90),
        );
    }
    out
}

/// Returns the section about calibration.
pub fn calibrated(found: &[NetworkErrors]) -> String {
    let [short, long] = CALIBRATED;
    format!(
        "The calibration simulates 20 s in the packet model and measures the last 10 s:\n\n\
         {}\n{}\nThe same for 60 s, with the last 30 s measured:\n\n{}\n{}",
        table_of(found, short),
        spread_of(found, short),
        table_of(found, long),
        spread_of(found, long),
    )
}

/// Returns the section about queue oscillations in networks with constant connections.
pub fn oscillations(found: &[NetworkErrors]) -> String {
    let resting: Vec<&NetworkErrors> = found.iter().filter(|it| it.draw.warmup_s > 0.0).collect();
    let mut out = format!(
        "| networks, of {} without churn, with an oscillation above | 5 % of the buffer | 10 % | 30 % |\n|---|---|---|---|\n",
        resting.len()
    );
    type Of = fn(&NetworkErrors) -> f64;
    let rows: [(&str, Of); 4] = [
        ("fluid", |it| it.fluid.oscillation),
        ("calibrated, 10 s", |it| it.calibrated[0].oscillation),
        ("calibrated, 30 s", |it| it.calibrated[1].oscillation),
        ("one run of packets", |it| it.packets_oscillation),
    ];
    for (name, of) in rows {
        let above = |part: f64| resting.iter().filter(|it| of(it) > part).count();
        let _ = writeln!(
            out,
            "| {name} | {} | {} | {} |",
            above(0.05),
            above(0.1),
            above(0.3)
        );
    }
    out
}

/// Returns the section about CPU time.
pub fn costs(found: &[NetworkErrors]) -> String {
    let mut out = String::from(
        "| family | CPU time of all networks [s]: fluid | calibrated, 10 s | calibrated, 30 s | packets, one run | networks where packets are faster |\n|---|---|---|---|---|---|\n",
    );
    for (name, family) in families() {
        let m = medians(found, family);
        let quicker = found.iter().filter(|it| {
            family.is_none_or(|family| it.draw.family == family)
                && it.packets_s < it.fluid.wall_time_s
        });
        let part = 100.0 * quicker.count() as f64 / m.networks as f64;
        let [short, long] = CALIBRATED.map(|way| medians_of(found, family, way).wall_time_s);
        let _ = writeln!(
            out,
            "| {name} | {:.1} | {short:.1} | {long:.1} | {:.1} | {part:.0} % |",
            m.wall_time_s, m.packets_s
        );
    }
    out
}

/// Returns the section about ns-2.
pub fn ns2_table(judged: &[NetworkComparison]) -> String {
    let median = |of: &dyn Fn(&NetworkComparison) -> Option<f64>| {
        quantile(judged.iter().filter_map(of).collect(), 0.5)
    };
    let mut out =
        String::from("| | longest queues | goodput: median | packets lost |\n|---|---|---|---|\n");
    type Of = fn(&NetworkComparison) -> Ns2Errors;
    let rows: [(&str, Of); 2] = [("fluid", |j| j.fluid), ("packets", |j| j.packets)];
    for (name, of) in rows {
        let _ = writeln!(
            out,
            "| {name} | {:.3} | {:.3} | {:.2} |",
            median(&|j| Some(of(j).queues)),
            median(&|j| Some(of(j).goodput)),
            median(&|j| of(j).lost),
        );
    }
    let _ = writeln!(
        out,
        "| one run of ns-2 | {:.3} | {:.3} | |",
        median(&|j| Some(j.own_queues)),
        median(&|j| Some(j.own_goodput)),
    );
    out
}

/// Checks that the accuracy reported to users matches the results.
///
/// # Errors
/// The reported accuracy and the results.
pub fn check(found: &[NetworkErrors], tcp: TestedTcp) -> Result<(), String> {
    let [calibrated, _] = medians_calibrated(found);
    for (is_calibrated, m) in [(false, medians(found, None)), (true, calibrated)] {
        let bounds = AccuracyBounds::of_fluid_model(tcp, is_calibrated);
        let apart = [
            bounds.queues - m.queues,
            bounds.link_loss - m.link_loss,
            bounds.goodput - m.goodput,
            bounds.goodput_p90 - m.goodput_p90,
            bounds.utilization - m.utilization,
        ];
        if apart.iter().any(|apart| apart.abs() > 0.005) {
            return Err(format!(
                "netflow_results::AccuracyBounds has {bounds:?}, but the study measured {m:?}"
            ));
        }
    }
    Ok(())
}

/// Returns the whole page.
pub fn page(
    found: &[NetworkErrors],
    higher: &[ScaledErrors],
    beside_ns: &[NetworkComparison],
    head: &str,
    before: &str,
) -> String {
    let m = medians(found, None);
    let [short, long] = medians_calibrated(found);
    let mut out = String::from(head);
    let _ = write!(
        out,
        "\n## Summary\n\n\
         | medians over {} networks | target | fluid | `calibrate = \"10 s\"` | `calibrate = \"30 s\"` |\n|---|---|---|---|---|\n\
         | twelve longest queues, Σ\\|error\\|/Σ | 0.20; calibrated 0.10 | {:.3} | {:.3} | {:.3} |\n\
         | goodput of a connection, median error | 0.08 | {:.3} | {:.3} | {:.3} |\n\
         | its 90th percentile | 0.25 | {:.3} | {:.3} | {:.3} |\n\
         | packets lost, fluid / packets | 0.7 to 1.4 | {:.2} | {:.2} | {:.2} |\n\n\
         ## By family\n\n{}\n\
         Values in brackets are errors of one packet run relative to the mean of three.\n\n{}\n\
         ## Calibrated fluid model\n\n{}\n\
         ## Higher bandwidths\n\nAll errors are medians over networks. {}\n\
         ## Oscillations\n\n\
         The oscillation of a queue is the largest difference between its means over one second, in the last 30 s. In steady\n\
         state it is 0 in the fluid model. In the packet model it is not, because windows follow a sawtooth.\n\n{}\n\
         ## Previous model of queues\n\n{before}\n\
         ## Cost\n\n{}\n\
         ## Comparison with ns-2\n\nThe table lists medians over every tenth network ({}), whole runs, relative to ns-2.35 with three seeds:\n\n{}",
        m.networks,
        m.queues,
        short.queues,
        long.queues,
        m.goodput,
        short.goodput,
        long.goodput,
        m.goodput_p90,
        short.goodput_p90,
        long.goodput_p90,
        m.lost[1],
        short.lost[1],
        long.lost[1],
        table(found),
        spread(found),
        calibrated(found),
        scaled::table(higher),
        oscillations(found),
        costs(found),
        beside_ns.len(),
        ns2_table(beside_ns),
    );
    out
}
