//! Large scenarios for measurements of growth: meshes, stars, and their traffic, as CSV tables.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

/// Traffic of a large scenario.
#[derive(Clone, Copy, Debug)]
pub enum Traffic {
    /// Connections with a constant rate.
    Constant,
    /// Demands.
    Demands,
}

/// Pseudo-random numbers that are equal on all machines (SplitMix64).
pub struct Random(pub u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        x ^ (x >> 31)
    }

    /// Returns a number below `end`.
    pub fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }
}

/// Directory with the files of a scenario, removed at the end.
pub struct LargeScenario {
    pub directory: PathBuf,
    text: String,
    nodes: usize,
}

impl LargeScenario {
    fn new(name: &str, nodes: usize, links: &str) -> LargeScenario {
        let directory =
            std::env::temp_dir().join(format!("netflow-{name}-{nodes}-{}", std::process::id()));
        fs::create_dir_all(&directory).expect("a directory for scenarios");
        let scenario = LargeScenario {
            directory,
            text: "[simulation]\nduration = \"10 s\"\n\n[include]\nlinks = \"links.csv\"\n"
                .to_owned(),
            nodes,
        };
        scenario.write(
            "links.csv",
            &format!("from,to,bandwidth,delay,buffer\n{links}"),
        );
        scenario
    }

    /// Returns a square mesh of `side`² nodes, whose links have delays of 1 ms, or of 0.5 to 1.5 ms.
    pub fn mesh(side: usize, equal: bool) -> LargeScenario {
        let mut random = Random(1);
        let mut links = String::new();
        for i in 0..side * side {
            let right = (i % side + 1 < side).then_some(i + 1);
            let below = (i / side + 1 < side).then_some(i + side);
            for j in [right, below].into_iter().flatten() {
                let delay_us = if equal {
                    1000
                } else {
                    500 + random.below(1000)
                };
                let _ = writeln!(links, "n{i},n{j},10 Gbit/s,{delay_us} us,100 pkt");
            }
        }
        LargeScenario::new(if equal { "grid" } else { "mesh" }, side * side, &links)
    }

    /// Returns `hosts` hosts around one router.
    pub fn star(hosts: usize) -> LargeScenario {
        let mut links = String::new();
        for i in 0..hosts {
            let _ = writeln!(links, "n{i},router,10 Gbit/s,1 ms,100 pkt");
        }
        LargeScenario::new("star", hosts, &links)
    }

    /// Adds traffic of 1 Mbit/s between `count` random pairs of nodes.
    pub fn with_traffic(mut self, traffic: Traffic, count: usize) -> LargeScenario {
        let (key, column) = match traffic {
            Traffic::Constant => ("connections", "constant"),
            Traffic::Demands => ("demands", "rate"),
        };
        let mut random = Random(2);
        let mut rows = format!("name,from,to,{column}\n");
        for k in 0..count {
            let from = random.below(self.nodes);
            let to = (from + 1 + random.below(self.nodes - 1)) % self.nodes;
            let _ = writeln!(rows, "c{k},n{from},n{to},1 Mbit/s");
        }
        self.write("traffic.csv", &rows);
        let _ = writeln!(self.text, "{key} = \"traffic.csv\"");
        self
    }

    /// Adds TOML text after the tables.
    pub fn with(mut self, text: &str) -> LargeScenario {
        self.text.push_str(text);
        self
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.directory.join(name), text).expect("to write a table");
    }

    /// Returns the text of the scenario.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the directory to which the text refers.
    pub fn directory(&self) -> &Path {
        &self.directory
    }
}

impl Drop for LargeScenario {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.directory);
    }
}
