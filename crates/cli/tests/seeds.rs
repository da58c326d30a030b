//! Tests of `netflow run --seeds`: means and spread over seeds, which do not depend on the number of
//! threads.

mod common;

use std::fs;

use common::{RESULTS, Workplace, files, names};
use netflow::results::Results;
use netflow_problems::SHARED_QUEUE;

fn place() -> Workplace {
    let place = Workplace::new();
    fs::write(place.path("w.toml"), SHARED_QUEUE).unwrap();
    place
}

#[test]
fn results_are_independent_of_threads() {
    let place = place();
    place.expect("run w.toml --seeds 7 --threads 1 -o one --quiet", 0);
    place.expect("run w.toml --seeds 7 --threads 8 -o many --quiet", 0);
    let one = files(&place.path("one"));
    assert_eq!(one.len(), 10, "with the scenario");
    assert_eq!(one, files(&place.path("many")));
}

/// Statistics of single runs, computed by the test.
#[test]
fn means_and_std_match_single_runs() {
    let place = place();
    place.expect("run w.toml --seeds 4 -o all --quiet", 0);
    let single: Vec<Results> = (1..=4)
        .map(|seed| {
            let run = format!("run w.toml --set simulation.seed={seed} -o {seed} --quiet");
            place.expect(&run, 0);
            Results::open(place.path(&seed.to_string())).unwrap()
        })
        .collect();
    let all = Results::open(place.path("all")).unwrap();
    assert_eq!(all.summary.seeds, 4);

    let mean_and_std = |of: &dyn Fn(&Results) -> f64| {
        let values: Vec<f64> = single.iter().map(of).collect();
        let mean = values.iter().sum::<f64>() / 4.0;
        let squares: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
        (mean, (squares / 3.0).sqrt())
    };
    let near = |a: f64, b: f64| assert!((a - b).abs() <= 1e-6 * b.abs().max(1e-9), "{a} {b}");

    let link = &all.summary.links[0];
    let (mean, std) = mean_and_std(&|run| run.summary.links[0].mean_queue_pkts);
    assert!(std > 0.0);
    near(link.mean_queue_pkts, mean);
    near(link.spread["mean_queue_pkts_std"].scalar().unwrap(), std);
    let (mean, std) = mean_and_std(&|run| run.summary.links[0].arrival_cov.unwrap());
    near(link.arrival_cov.unwrap(), mean);
    near(link.spread["arrival_cov_std"].scalar().unwrap(), std);
    let (mean, std) = mean_and_std(&|run| run.summary.connections[0].timeouts.unwrap());
    near(all.summary.connections[0].timeouts.unwrap(), mean);
    near(
        all.summary.connections[0].spread["timeouts_std"]
            .scalar()
            .unwrap(),
        std,
    );

    let row = 20; // in the eleventh interval
    let (mean, std) = mean_and_std(&|run| run.links().unwrap()[row].values.queue_pkts);
    near(all.links().unwrap()[row].values.queue_pkts, mean);
    let cell = |file: &str| -> f64 {
        let text = fs::read_to_string(place.path("all").join(file)).unwrap();
        let line = text.lines().nth(row + 1).unwrap();
        line.split(',').nth(4).unwrap().parse().unwrap()
    };
    // Values have seven digits, so differences have fewer.
    let near = |a: f64, b: f64| assert!((a - b).abs() <= 2e-6 * mean, "{a} {b}");
    near(cell("links_std.csv"), std);
    // Student's t for three degrees of freedom is 3.18244631 at 97.5 %.
    near(cell("links_ci95.csv"), 3.182_446_31 * std / 2.0);

    // The queues of a seed are added first, then averaged over the seeds.
    let end_s = all.links().unwrap()[row].time_s;
    let (mean, std) = mean_and_std(&|run| {
        let rows = run.links().unwrap().into_iter();
        let then = rows.filter(|row| row.time_s == end_s);
        then.map(|row| row.values.queue_pkts).sum()
    });
    let whole = all.network_totals().unwrap().unwrap();
    let queue = whole
        .iter()
        .find(|row| row.time_s == end_s && &*row.quantity == "queue_pkts")
        .unwrap();
    near(queue.values.mean, mean);
    near(queue.values.std.unwrap(), std);
    near(queue.values.ci95.unwrap(), 3.182_446_31 * std / 2.0);
}

/// A single run removes the spread files of earlier runs with several seeds from its directory.
#[test]
fn single_run_removes_old_std_files() {
    let place = place();
    place.expect("run w.toml --seeds 2 -o out --quiet", 0);
    place.expect("run w.toml -o out --quiet", 0);
    assert_eq!(names(&place.path("out")), RESULTS);
}

#[test]
fn classes_are_written_for_single_runs_only() {
    let place = place();
    place.expect("run w.toml --seeds 2 --classes -o out --quiet", 2);
    place.expect("run w.toml --classes -o out --quiet", 0);
    let results = Results::open(place.path("out")).unwrap();
    let classes = results.classes().unwrap().unwrap();
    let arrived: f64 = classes
        .iter()
        .filter(|row| &*row.connection == "tcp")
        .map(|row| 0.5 * row.values.arrival_pps)
        .sum();
    let offered = results.summary.connections[0].offered_pkts;
    assert!(
        (arrived / offered - 1.0).abs() < 1e-5,
        "{arrived} {offered}"
    );
}
