//! Unsupported operations are rejected as a whole, and never partially applied or silently ignored.

use std::sync::Arc;

use netflow_profile::builtin;
use netflow_simulation::*;
use netflow_workload::{Application as Asks, Distribution, Http};

struct Lab {
    builder: NetworkBuilder,
    from: NodeId,
    to: NodeId,
    link: LinkId,
}

impl Lab {
    fn new() -> Lab {
        let mut builder = NetworkBuilder::new();
        let (from, to) = (builder.node("A"), builder.node("B"));
        let spec = |from, to| netflow_problems::link(from, to, 8e6, 0.01, 20.0);
        let link = builder.link(spec(from, to));
        builder.link(spec(to, from));
        Lab {
            builder,
            from,
            to,
            link,
        }
    }

    fn spec(&self, source: Source) -> ConnectionSpec {
        netflow_problems::connection("c1", self.from, self.to, source)
    }

    fn with(mut self, source: Source) -> Network {
        let spec = self.spec(source);
        self.builder.connection(spec);
        self.builder.build().unwrap()
    }

    fn workload(&self, clients: Vec<NodeId>, users_per_s: f64) -> WorkloadSpec {
        WorkloadSpec {
            name: "web".to_owned(),
            application: Asks::Http(Http {
                request_bytes: Distribution::Constant(300.0),
                reply_bytes: Distribution::Constant(2000.0),
                files: Distribution::Constant(2.0),
                think_s: Distribution::Constant(10.0),
                pages: Distribution::Constant(3.0),
            }),
            users_per_s,
            clients,
            servers: vec![self.to],
            start_s: 0.0,
            stop_s: None,
            source: Some(WindowSource::default()),
            delayed_ack: false,
            packet_size_bytes: 1000.0,
            stack: netflow_tcpmodel::Stack::builtin("linux-6").unwrap(),
            flow: None,
            path: None,
            return_path: None,
            class: None,
        }
    }
}

fn profile() -> Source {
    Source::Profile(builtin("ns-reno").unwrap())
}

fn window() -> Source {
    Source::Ns2Tcp(WindowSource::default())
}

fn options(model: Model) -> Options {
    Options {
        model,
        duration_s: 5.0,
        ..Options::default()
    }
}

fn expect_rejection(result: Result<Simulation, RunError>) -> String {
    match result {
        Err(error) => error.to_string(),
        Ok(_) => panic!("not refused"),
    }
}

fn build_errors(builder: NetworkBuilder) -> Vec<String> {
    let errors = builder.build().expect_err("a mistake");
    errors.iter().map(ToString::to_string).collect()
}

#[test]
fn fluid_model_rejects_window_sources() {
    let fluid = options(Model::FLUID);
    let error = expect_rejection(Simulation::new(Lab::new().with(window()), fluid));
    assert_eq!(
        error,
        "option model: connection `c1` has a TCP source of the packet model: set `model = \"packet\"`, or \
         give it a `profile`"
    );
    assert!(Simulation::new(Lab::new().with(window()), options(Model::PACKETS)).is_ok());
}

fn saved(network: &Network, options: Options) -> State {
    let mut simulation = Simulation::new(network.clone(), options).unwrap();
    for _ in 0..20 {
        simulation.step().unwrap();
    }
    simulation.state().unwrap().clone()
}

#[test]
fn packet_model_rejects_resume_from_state() {
    let network = Lab::new().with(profile());
    let state = saved(&network, options(Model::FLUID));
    let error = expect_rejection(Simulation::resume(network, options(Model::PACKETS), state));
    assert!(error.contains("clone the simulation"), "{error}");
}

/// States of the same shape that differ in their content only.
#[test]
fn state_of_other_network_or_options_is_rejected() {
    let network = Lab::new().with(profile());
    let state = saved(&network, options(Model::FLUID));
    let mut other = Lab::new();
    let spec = ConnectionSpec {
        max_window_pkts: Some(10.0),
        ..other.spec(profile())
    };
    other.builder.connection(spec);
    let other = other.builder.build().unwrap();
    let told = "option state: it belongs to another network or to other options";
    let fluid = options(Model::FLUID);
    assert_eq!(
        expect_rejection(Simulation::resume(other, fluid, state.clone())),
        told
    );
    let others = Options {
        model: FluidOptions::Standard {
            step: Step::Fixed { step_s: 0.004 },
        }
        .into(),
        ..fluid
    };
    let resume = |options| Simulation::resume(network.clone(), options, state.clone());
    assert_eq!(expect_rejection(resume(others)), told);
    let longer = Options {
        duration_s: 50.0,
        ..fluid
    };
    assert!(resume(fluid).is_ok() && resume(longer).is_ok());
}

#[test]
fn foreign_ids_are_reported_with_their_use() {
    let mut other = Lab::new();
    let (node, link) = (other.from, other.link);
    let spec = other.spec(profile());
    let connection = other.builder.connection(spec);

    let lab = Lab::new;
    let mut it = lab();
    it.builder
        .link(netflow_problems::link(node, it.to, 1e6, 0.0, 5.0));
    assert_eq!(
        build_errors(it.builder),
        ["link 2: `from` is an id of another network"]
    );

    let mut it = lab();
    let spec = ConnectionSpec {
        return_path: Some(vec![it.to, node]),
        ..it.spec(profile())
    };
    it.builder.connection(spec);
    let told = ["connection c1: `return_path` is an id of another network"];
    assert_eq!(build_errors(it.builder), told);

    let mut it = lab();
    it.builder.event(EventSpec {
        at_s: 2.0,
        link,
        change: Change::Down,
    });
    let told = ["event at 2 s: `link` is an id of another network"];
    assert_eq!(build_errors(it.builder), told);

    let mut it = lab();
    it.builder.schedule(MultiQueueLink {
        link,
        scheduler: Scheduler::Priority,
        classes: Vec::new(),
    });
    it.builder.classify(connection, "AF1");
    let told = [
        "classes of a link: `link` is an id of another network",
        "class AF1: `connection` is an id of another network",
    ];
    assert_eq!(build_errors(it.builder), told);

    let mut it = lab();
    let spec = it.workload(vec![node], 1.0);
    assert!(it.builder.workload(spec).is_empty());
    let told = ["workload web: `clients` is an id of another network"];
    assert_eq!(build_errors(it.builder), told);
}

#[test]
#[should_panic(expected = "LinkId(0) is a link of another network")]
fn foreign_id_lookup_panics() {
    let network = Lab::new().with(profile());
    let simulation = Simulation::new(network, options(Model::FLUID)).unwrap();
    simulation.link_totals(Lab::new().link);
}

#[test]
fn impossible_workload_has_no_load() {
    let mut it = Lab::new();
    let spec = it.workload(vec![it.from], f64::NAN);
    assert!(it.builder.workload(spec).is_empty());
    let told = ["workload `web`: users_per_s is NaN, but must be above 0 and at most 1e6"];
    assert_eq!(build_errors(it.builder), told);
}

#[test]
fn users_without_a_workload_are_rejected() {
    let mut it = Lab::new();
    let spec = Arc::new(it.workload(vec![it.from], 1.0));
    let (_, name) = it.builder.workload((*spec).clone()).remove(0);
    let network = it.builder.build().unwrap();
    let id = network.connection_by_name(&name).unwrap();
    let source = network.connection_spec(id).source.clone();

    let mut other = Lab::new();
    let spec = other.spec(source);
    other.builder.connection(spec);
    let told = build_errors(other.builder);
    assert_eq!(told.len(), 1);
    assert!(
        told[0].contains("connection `c1` cannot carry its users"),
        "{told:?}"
    );
}

#[test]
fn misspelt_class_is_rejected() {
    let mut it = Lab::new();
    it.builder.schedule(MultiQueueLink {
        link: it.link,
        scheduler: Scheduler::Priority,
        classes: vec![QueueClass {
            policer: None,
            name: "AF1".to_owned(),
            weight: 1.0,
            buffer: Buffer::Packets(5.0),
            queue: DropPolicy::DropTail,
        }],
    });
    let spec = it.spec(profile());
    let connection = it.builder.connection(spec);
    it.builder.classify(connection, "AF2");
    let told = ["connection c1: its class is `AF2`, but links have only AF1"];
    assert_eq!(build_errors(it.builder), told);
}

/// Regression: times had 6·10¹⁰ ns, and rates near zero overflowed sums.
#[test]
fn impossible_networks_are_rejected() {
    let poisson = || Lab::new().with(Source::Poisson { rate_pps: 10.0 });
    for model in [Model::FLUID, Model::PACKETS] {
        let options = Options {
            duration_s: 60.0,
            model,
            ..Options::default()
        };
        let mut simulation = Simulation::new(poisson(), options).unwrap();
        let error = simulation.run(1e-7, &mut Nothing, || false).unwrap_err();
        assert!(error.to_string().contains("6.000e8 intervals"), "{error}");
    }
    for bandwidth_bps in [5e-324, 0.5, f64::INFINITY] {
        let mut lab = Lab::new();
        let (from, to) = (lab.from, lab.to);
        lab.builder
            .link(netflow_problems::link(from, to, bandwidth_bps, 0.01, 20.0));
        let errors = lab.builder.build().unwrap_err();
        let text = format!("{errors:?}");
        assert!(text.contains("bandwidth_bps"), "{text}");
    }
}

/// Regression: the packet model checked for a stop between intervals only.
#[test]
fn run_can_be_stopped_within_an_interval() {
    for model in [Model::FLUID, Model::PACKETS] {
        let options = Options {
            duration_s: 1e5,
            model,
            ..Options::default()
        };
        let network = Lab::new().with(Source::Poisson { rate_pps: 10.0 });
        let mut simulation = Simulation::new(network, options).unwrap();
        let asked = std::cell::Cell::new(0);
        let stop = || {
            asked.set(asked.get() + 1);
            asked.get() > 20
        };
        let outcome = simulation.run(1e5, &mut Nothing, stop).unwrap();
        assert_eq!(outcome, Outcome::Stopped);
        assert!(simulation.time_s() < 100.0, "{}", simulation.time_s());
    }
}

struct Nothing;

impl Recorder for Nothing {
    type Error = std::convert::Infallible;

    fn interval(&mut self, _: &Interval<'_>) -> Result<(), Self::Error> {
        Ok(())
    }
}
