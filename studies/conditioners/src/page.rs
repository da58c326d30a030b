//! Results page of the study.

use std::error::Error;
use std::fmt::Write;

use crate::ns2_comparison::{MAX_ERRORS, compare, rows};
use crate::{CONDITIONERS, Means, Sources, TwoAggregates, five_aggregates};

/// Round-trip propagation of F2 in ms.
const RTTS_MS: [f64; 8] = [4.0, 10.0, 20.0, 40.0, 60.0, 100.0, 150.0, 200.0];

const HEAD: &str = "\
# DiffServ conditioners that measure round-trip times

This study repeats simulations of Habib, Bhargava & Fahmy, *A Round Trip Time and Time-out Aware Traffic Conditioner
for Differentiated Services Networks* (ICC 2002). Aggregates of TCP transfers share a bottleneck that drops by
precedence (RIO). [Conditioners](../../docs/guides/diffserv.md#conditioners) at the edges mark the packets that exceed
an aggregate's profile, depending on its RTT and timeout.

```sh
cargo run --release -p study-conditioners
```

writes this page. With `-- --sweep` it prints the throughput of F1 and F2 for each conditioner and RTT of F2 as CSV.

## Method

- Two aggregates (`scenarios/diffserv.toml`) share 10 Mbit/s. Each has a committed rate of 2 Mbit/s and a peak rate of
  3 Mbit/s. The RIO curves (minimum, maximum, probability) of DP0, DP1 and DP2 are (40, 55, 0.02), (25, 40, 0.05) and
  (10, 25, 0.1).
- TCP is NewReno with the profile `ns-newreno-w64`. The round-trip propagation of F1 is 20 ms. The figures of the paper
  were not available, and the host links are a choice of this study. Results are means from 20 to 120 s.
- *Profiles* are sources of the fluid model: all micro-flows of an aggregate have the same loss at the same time.
- *Windows* are congestion windows of NewReno in the packet model (`source = { ns2-tcp = \"newreno\" }`, three seeds).
- The profile was measured from an RTT of 1 ms and up to a loss of 0.3. Larger losses are outside its range.
";

/// Returns the whole page.
///
/// # Errors
/// If a scenario cannot be read or run.
pub fn page() -> Result<String, Box<dyn Error>> {
    let mut page = HEAD.to_owned();
    reference(&mut page)?;
    for micro_flows in [10, 200] {
        sweep(&mut page, micro_flows, Sources::Profiles)?;
        sweep(&mut page, micro_flows, Sources::Windows)?;
    }
    domains(&mut page)?;
    claims(&mut page)?;
    Ok(page)
}

fn reference(page: &mut String) -> Result<(), Box<dyn Error>> {
    let [throughput, colours, drops] = MAX_ERRORS;
    write!(
        page,
        "\n## Standard conditioner compared with ns-2\n\n\
         The table lists errors of F1, F2 relative to ns-2.35 (`tests/reference/ns2/diffserv/means.csv`). The limits are {} %\n\
         for the throughput, {colours} for the worst colour fraction and {} % for the drop ratio. An asterisk marks a miss.\n\n\
         | queue | micro-flows | RTT of F2 [ms] | TCP | netflow [Mbit/s] | ns-2 [Mbit/s] | throughput [%] | colours | drops [%] | met |\n\
         |---|---|---|---|---|---|---|---|---|---|\n",
        100.0 * throughput,
        100.0 * drops
    )?;
    let (mut met, mut all) = ([0; 2], 0);
    for row in rows()? {
        for (i, sources) in [Sources::Profiles, Sources::Windows]
            .into_iter()
            .enumerate()
        {
            let compared = compare(&row, sources)?;
            let [one, other] = compared.throughput_mbps;
            let cell = |which: usize, scale: f64, digits: usize| {
                let each = compared.errors.iter().map(|errors| {
                    let miss = if errors[which].abs() > MAX_ERRORS[which] {
                        "*"
                    } else {
                        ""
                    };
                    let error = scale * errors[which];
                    match which {
                        1 => format!("{error:.digits$}{miss}"),
                        _ => format!("{error:+.digits$}{miss}"),
                    }
                });
                each.collect::<Vec<_>>().join(", ")
            };
            writeln!(
                page,
                "| {} | {} | {} | {sources} | {:.2}, {:.2} | {:.2}, {:.2} | {} | {} | {} | {} of 6 |",
                compared.dropper,
                compared.micro_flows,
                compared.rtt2_ms,
                one.0,
                other.0,
                one.1,
                other.1,
                cell(0, 100.0, 1),
                cell(1, 1.0, 3),
                cell(2, 100.0, 0),
                compared.criteria_met(),
            )?;
            met[i] += compared.criteria_met();
            all += 3; // half of the six, for each of two
        }
    }
    let [profiles, windows] = met;
    write!(
        page,
        "\nCriteria met: {profiles} of {all} with profiles, {windows} of {all} with windows.\n\n\
         - Windows do not need a profile.\n"
    )?;
    Ok(())
}

fn sweep(page: &mut String, micro_flows: u32, sources: Sources) -> Result<(), Box<dyn Error>> {
    write!(
        page,
        "\n## Two aggregates of {micro_flows} micro-flows: F1 / F2 in Mbit/s ({sources})\n\n| RTT of F2 [ms] |"
    )?;
    for conditioner in CONDITIONERS {
        write!(page, " {conditioner} |")?;
    }
    writeln!(page, "\n|---|{}", "---|".repeat(CONDITIONERS.len()))?;
    for rtt2_ms in RTTS_MS {
        write!(page, "| {rtt2_ms} |")?;
        for conditioner in CONDITIONERS {
            let network = TwoAggregates::new(conditioner, micro_flows, rtt2_ms, sources);
            let means = network.evaluate()?;
            let each = means
                .iter()
                .map(|means| format!("{:.2}", means.throughput_mbps));
            write!(page, " {} |", each.collect::<Vec<_>>().join(" / "))?;
        }
        writeln!(page)?;
    }
    Ok(())
}

/// Returns the sweep as CSV.
///
/// # Errors
/// If a scenario cannot be read or run.
pub fn sweep_csv() -> Result<String, Box<dyn Error>> {
    let mut csv = "conditioner,micro_flows,rtt2_ms,f1_mbps,f2_mbps\n".to_owned();
    for micro_flows in [10, 200] {
        for conditioner in CONDITIONERS {
            for rtt2_ms in RTTS_MS {
                let network =
                    TwoAggregates::new(conditioner, micro_flows, rtt2_ms, Sources::Profiles);
                let [f1, f2] = two(&network.evaluate()?);
                writeln!(csv, "{conditioner},{micro_flows},{rtt2_ms},{f1:.4},{f2:.4}")?;
            }
        }
    }
    Ok(csv)
}

/// Returns the throughputs of F1 and F2.
pub fn two(means: &[Means]) -> [f64; 2] {
    let of = |i: usize| means.get(i).map_or(f64::NAN, |means| means.throughput_mbps);
    [of(0), of(1)]
}

fn domains(page: &mut String) -> Result<(), Box<dyn Error>> {
    page.push_str(
        "\n## Five aggregates over three domains (profiles)\n\n\
         In `three-domains.toml`, F1 and F2 cross three domains, F3 the first two, F4 the last two, and F5 the last. Each has\n\
         50 micro-flows. Their round-trip propagation is 20, 100, 40, 60 and 20 ms. Throughputs are in Mbit/s. Fairness is\n\
         Jain's index.\n\n\
         | conditioner | F1 | F2 | F3 | F4 | F5 | sum | fairness |\n|---|---|---|---|---|---|---|---|\n",
    );
    for conditioner in CONDITIONERS {
        let means = five_aggregates(conditioner)?;
        let all: Vec<f64> = means.iter().map(|means| means.throughput_mbps).collect();
        let sum: f64 = all.iter().sum();
        let squares: f64 = all.iter().map(|x| x * x).sum();
        write!(page, "| {conditioner} |")?;
        for throughput in &all {
            write!(page, " {throughput:.2} |")?;
        }
        writeln!(
            page,
            " {sum:.2} | {:.3} |",
            sum * sum / (all.len() as f64 * squares)
        )?;
    }
    Ok(())
}

/// Claim of the paper with netflow's result.
#[derive(Clone, Debug)]
pub struct Claim {
    /// Text of the claim.
    pub claim: &'static str,
    /// Results in numbers.
    pub found: String,
    /// True if the results confirm the claim.
    pub holds: bool,
    /// Reason if they do not.
    pub failure_reason: &'static str,
}

/// Evaluates the claims of \[Cond\] at an RTT of 100 ms.
///
/// # Errors
/// If a scenario cannot be read or run.
pub fn all_claims() -> Result<Vec<Claim>, Box<dyn Error>> {
    let at = |conditioner: &str, micro_flows: u32| -> Result<[f64; 2], Box<dyn Error>> {
        let network = TwoAggregates::new(conditioner, micro_flows, 100.0, Sources::Profiles);
        Ok(two(&network.evaluate()?))
    };
    let under = |conditioner: &str| -> Result<[f64; 2], Box<dyn Error>> {
        let network = TwoAggregates {
            rates_mbps: (6.0, 7.0),
            ..TwoAggregates::new(conditioner, 200, 100.0, Sources::Profiles)
        };
        Ok(two(&network.evaluate()?))
    };
    let show = |[f1, f2]: [f64; 2]| format!("{f1:.2} / {f2:.2}");
    let gap = |[f1, f2]: [f64; 2]| (f1 - f2).abs();
    let standard = at("standard", 200)?;
    let (rtt, rto, rtt_sw) = (at("rtt", 200)?, at("rtt-rto", 200)?, at("rtt-sw", 200)?);
    let (few, few_sw) = (at("standard", 10)?, at("sw", 10)?);
    let windows = |conditioner: &str, micro_flows: u32| -> Result<[f64; 2], Box<dyn Error>> {
        let network = TwoAggregates::new(conditioner, micro_flows, 100.0, Sources::Windows);
        Ok(two(&network.evaluate()?))
    };
    let (window_rtt, window_rto) = (windows("rtt", 10)?, windows("rtt-rto", 10)?);
    let (window_sw, window_many) = (windows("rtt-sw", 10)?, windows("rtt", 200)?);
    let (under, under_rtt) = (under("standard")?, under("rtt")?);
    Ok(vec![
        Claim {
            claim: "standard: the short RTT gets more of the excess",
            found: format!("n = 10: {}; n = 200: {}", show(few), show(standard)),
            holds: few[0] > few[1] && standard[0] > standard[1],
            failure_reason: "",
        },
        Claim {
            claim: "rtt, many micro-flows: the long RTT gets the excess (the paper: 2.3 / 7.52)",
            found: show(rtt),
            holds: rtt[1] > 2.0 * rtt[0],
            failure_reason: "",
        },
        Claim {
            claim: "rtt-sw, many micro-flows: evener than rtt",
            found: format!("{} instead of {}", show(rtt_sw), show(rtt)),
            holds: gap(rtt_sw) < gap(rtt),
            failure_reason: "",
        },
        Claim {
            claim: "rtt-rto, many micro-flows: evener than rtt",
            found: format!("{} instead of {}", show(rto), show(rtt)),
            holds: gap(rto) < 0.9 * gap(rtt),
            failure_reason: "F1 has both minima, so q = 1 for it with either; only timeouts that F1 has longer than F2 \
                      could change that, and the fluid model has none above three RTTs",
        },
        Claim {
            claim: "rtt-rto and rtt-sw with windows (n = 10): evener than rtt",
            found: format!(
                "{} and {} instead of {}",
                show(window_rto),
                show(window_sw),
                show(window_rtt)
            ),
            holds: gap(window_rto) < 0.9 * gap(window_rtt)
                && gap(window_sw) < 0.9 * gap(window_rtt),
            failure_reason: "",
        },
        Claim {
            claim: "rtt with windows, many micro-flows: the long RTT gets the excess (2.3 / 7.52)",
            found: show(window_many),
            holds: (window_many[0] - 2.3).abs() < 0.5 && (window_many[1] - 7.52).abs() < 0.5,
            failure_reason: "",
        },
        Claim {
            claim: "small-window protection favours short RTTs (n = 10)",
            found: format!("sw {}, standard {}", show(few_sw), show(few)),
            holds: few_sw[0] / few_sw[1] > few[0] / few[1],
            failure_reason: "",
        },
        Claim {
            claim: "under-provisioned (6 Mbit/s committed each): RTTs do not count",
            found: format!("rtt {}, standard {}", show(under_rtt), show(under)),
            holds: (under_rtt[0] - under[0]).abs() < 0.1 * under[0],
            failure_reason: "",
        },
    ])
}

fn claims(page: &mut String) -> Result<(), Box<dyn Error>> {
    page.push_str(
        "\n## Claims of the paper, for an RTT of F2 of 100 ms\n\n\
         Results are F1 / F2 in Mbit/s.\n\n| claim | result | confirmed |\n|---|---|---|\n",
    );
    for Claim {
        claim,
        found,
        holds: shown,
        failure_reason: why_not,
    } in all_claims()?
    {
        let shown = match shown {
            true => "yes".to_owned(),
            false if why_not.is_empty() => "no".to_owned(),
            false => format!("no: {why_not}"),
        };
        writeln!(page, "| {claim} | {found} | {shown} |")?;
    }
    Ok(())
}
