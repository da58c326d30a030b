//! Scenarios in several files.

use std::fs;
use std::path::Path;
#[cfg(unix)]
use std::time::Duration;

use netflow_scenario::{CompiledScenario, ProblemKind, Problems, load};
use netflow_simulation::{Change, GilbertElliott, LinkLoss};

const SCENARIO: &str = "[simulation]\nduration = \"10 s\"\n[include]\nlinks = \"links.csv\"\nconnections = \"connections.csv\"\n";

fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in files {
        fs::write(folder.path().join(name), text).expect("a file");
    }
    folder
}

fn read(files: &[(&str, &str)]) -> Result<CompiledScenario, Problems> {
    let folder = folder(files);
    load(&folder.path().join("topology.toml"), &[])
}

#[test]
fn tables_equal_toml() {
    let prepared = read(&[
        (
            "topology.toml",
            "[simulation]\nduration = \"10 s\"\n[include]\nlinks = \"links.csv\"\nconnections = \"connections.csv\"\n\
             nodes = \"nodes.csv\"\nevents = \"events.csv\"\n\
             [[link]]\nfrom = \"C\"\nto = \"D\"\nbandwidth = \"1 Mbit/s\"\n\
             [[connection]]\nfrom = \"C\"\nto = \"D\"\nsource = { profile = \"nt\" }\n",
        ),
        (
            "nodes.csv",
            "name,label,x,y\nA,\"Aachen, \"\"Hbf\"\"\",1,2\n",
        ),
        (
            "links.csv",
            "\u{feff}# two links\r\n\r\nto,from, bandwidth ,duplex,queue.discipline,queue.min,queue.max,delay\r\n\
             B,A,8 Mbit/s,,red,5 pkt,\"20 pkt\",\r\n   \r\nC,B,4 Mbit/s,true,,,,20 ms",
        ),
        (
            "connections.csv",
            "from,to,profile,constant,path,return-path,count\nA,C,ns-reno,,A > B>C,C>B > A,3\nA,B,,100 pkt/s,,,\n",
        ),
        (
            "events.csv",
            "at,link,down,set.bandwidth,set.loss,set.loss.gilbert.p,set.loss.gilbert.r\n\
             5 s,B->C,true,,,,\n6 s,A->B,,4 Mbit/s,1 %,,\n7 s,A->B,,,,0.01,25 %\n",
        ),
    ]);
    let prepared = prepared.unwrap_or_else(|problems| panic!("{problems}"));
    assert!(prepared.warnings.is_empty(), "{:?}", prepared.warnings);
    let network = &prepared.network;
    assert_eq!(
        (
            network.node_count(),
            network.link_count(),
            network.connection_count()
        ),
        (4, 6, 3)
    );
    let names: Vec<&str> = network
        .connections()
        .map(|id| network.connection_name(id))
        .collect();
    assert_eq!(names, ["c1", "c2", "c3"]);
    let changes: Vec<Change> = network.events().map(|event| event.change).collect();
    let gilbert = GilbertElliott::new(0.01, 0.25, 0.0, 1.0).ok();
    let in_bursts = LinkLoss {
        gilbert,
        ..LinkLoss::NONE
    };
    let wanted = [
        Change::Down,
        Change::Bandwidth(4e6),
        Change::Loss(LinkLoss::from(0.01)),
        Change::Loss(in_bursts),
    ];
    assert_eq!(changes, wanted);
    let link = network.link_spec(network.link_by_name("B->C").expect("the link B->C"));
    assert_eq!((link.bandwidth_bps, link.delay_s), (4e6, 0.02));
    assert!(matches!(
        network
            .link_spec(network.link_by_name("A->B").expect("the link A->B"))
            .queue,
        netflow_simulation::DropPolicy::Red(_)
    ));
    assert_eq!(
        network
            .path(network.connection_by_name("c2").expect("c2"))
            .len(),
        2
    );
    assert_eq!(
        prepared.node_annotations[0].label.as_deref(),
        Some("Aachen, \"Hbf\"")
    );
    let files: Vec<_> = prepared
        .sources
        .iter()
        .filter_map(Path::file_name)
        .collect();
    assert_eq!(
        files,
        [
            "topology.toml",
            "links.csv",
            "nodes.csv",
            "events.csv",
            "connections.csv"
        ]
    );
}

#[test]
fn digest_covers_all_files() {
    let files = [
        ("topology.toml", SCENARIO),
        ("links.csv", "from,to,bandwidth\nA,B,1 Mbit/s\n"),
        ("connections.csv", "from,to,profile\nA,B,nt\n"),
    ];
    let first = read(&files).expect("a scenario").digest;
    // printf of the three texts | sha256sum
    assert_eq!(first, DIGEST);
    let mut others = files;
    others[1].1 = "from,to,bandwidth\nA,B,2 Mbit/s\n";
    assert_ne!(read(&others).expect("a scenario").digest, first);
}

const DIGEST: &str = "1f7b76f233d4b7143763605df8de4a10a11de57446be2bc6c476d4b0f5b256c2";

#[test]
fn missing_scenario_is_unreadable() {
    let problems = load("nowhere/topology.toml".as_ref(), &[]).unwrap_err();
    assert!(problems.is_unreadable());
    assert_eq!(
        problems.to_string(),
        "nowhere/topology.toml: error: cannot be read: there is no such file"
    );
    let problems = load(".".as_ref(), &[]).unwrap_err();
    assert!(problems.is_unreadable());
    let problems = read(&[("topology.toml", SCENARIO)]).unwrap_err();
    assert!(problems.is_unreadable());
    assert_eq!(problems.iter().count(), 2, "{problems}");
    let problems = read(&[("topology.toml", "x")]).unwrap_err();
    assert!(!problems.is_unreadable());
}

#[test]
fn huge_scenario_is_rejected_before_reading() {
    let folder = folder(&[]);
    let path = folder.path().join("topology.toml");
    // A sparse file, which uses no disk space.
    fs::File::create(&path)
        .and_then(|file| file.set_len(1 << 40))
        .expect("a sparse file");
    let problems = load(&path, &[]).unwrap_err();
    let problem = problems.iter().next().expect("a problem");
    assert_eq!(problem.kind, ProblemKind::TooLarge);
    assert!(!problems.is_unreadable());
    assert!(problem.message.contains("at most 64 MB"), "{problem}");
}

#[test]
fn scenario_cannot_include_itself() {
    let folder = folder(&[(
        "topology.toml",
        &SCENARIO.replace("links.csv", "./x/../topology.toml"),
    )]);
    fs::create_dir(folder.path().join("x")).expect("a folder");
    let problems = load(&folder.path().join("topology.toml"), &[]).unwrap_err();
    assert!(
        problems.to_string().contains("cyclic include"),
        "{problems}"
    );
}

#[test]
fn table_errors_are_limited() {
    let rows: String = (0..100_000)
        .map(|i| format!("u{},A,X,ns-reno\n", i % 1000))
        .collect();
    let connections = format!("name,from,to,profile\n{rows}");
    let problems = read(&[
        ("topology.toml", SCENARIO),
        ("links.csv", "from,to,bandwidth\nA,B,1 Mbit/s\n"),
        ("connections.csv", &connections),
    ]);
    let problems = problems.unwrap_err().into_vec();
    assert_eq!(problems.len(), 201);
    let last = problems.last().expect("a problem");
    assert_eq!(
        (last.kind, last.message.as_str()),
        (ProblemKind::More, "99800 more problems not shown")
    );
}

/// Returns the processor time of this thread, independent of other load.
#[cfg(unix)]
fn cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Regression: suggestions for misspelt names took a minute. Each of thousands of unknown names was
/// compared with every known one, though only 200 problems are kept.
#[cfg(unix)]
#[test]
fn many_misspelt_names_are_reported_quickly() {
    let links: String = (0..20_000)
        .map(|i| format!("A,node{i},1 Mbit/s\n"))
        .collect();
    let rows: String = (0..20_000)
        .map(|i| format!("c{i},nude{i},A,ns-reno\n"))
        .collect();
    let began = cpu_time();
    let problems = read(&[
        ("topology.toml", SCENARIO),
        ("links.csv", &format!("from,to,bandwidth\n{links}")),
        ("connections.csv", &format!("name,from,to,profile\n{rows}")),
    ]);
    let problems = problems.unwrap_err().into_vec();
    assert_eq!(problems.len(), 201);
    // The first problems have suggestions.
    let help = problems[0].help.as_deref().unwrap_or_default();
    assert!(help.contains("did you mean `node0`?"), "{help}");
    let unknown: String = (0..100_000).map(|i| format!("delai{i} = 1\n")).collect();
    let text = format!("[[link]]\nfrom = \"A\"\nto = \"B\"\n{unknown}");
    assert_eq!(
        read(&[("topology.toml", &text)])
            .unwrap_err()
            .into_vec()
            .len(),
        201
    );
    let took = cpu_time() - began;
    assert!(took < Duration::from_secs(20), "{took:?}");
}

#[test]
fn profile_path_is_relative_to_scenario() {
    let text = "[simulation]\nduration = \"1 s\"\n[[link]]\nfrom = \"A\"\nto = \"B\"\nbandwidth = \"1 Mbit/s\"\n\
        [[connection]]\nfrom = \"A\"\nto = \"B\"\nsource = { profile = \"mine.toml\" }\n";
    let profile = "format = 1\nkind = \"mathis\"\nname = \"mine\"\n";
    let prepared = read(&[("topology.toml", text), ("mine.toml", profile)]);
    let prepared = prepared.unwrap_or_else(|problems| panic!("{problems}"));
    assert_eq!(prepared.sources.iter().count(), 2);
}

#[test]
fn cell_conflicts_with_nested_cells() {
    let tables = |row: &str| {
        let links = format!("from,to,bandwidth,loss,loss.ber\nA,B,8 Mbit/s,{row}\n");
        let scenario = "[simulation]\nduration = \"1 s\"\n[include]\nlinks = \"links.csv\"\n\
             [[connection]]\nfrom = \"A\"\nto = \"B\"\nsource = { poisson = \"10 pkt/s\" }\n";
        (scenario, links)
    };
    for (row, good) in [
        ("1 %,", true),
        (",1e-6", true),
        (",", true),
        ("1 %,1e-6", false),
    ] {
        let (scenario, links) = tables(row);
        let found = read(&[("topology.toml", scenario), ("links.csv", &links)]);
        assert_eq!(found.is_ok(), good, "{row}");
        if let Err(problems) = found {
            let first = &problems.into_vec()[0];
            assert_eq!((first.line, first.column), (Some(2), Some(18)), "{first}");
        }
    }
}
