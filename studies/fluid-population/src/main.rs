//! Fluid model compared with the packet model, over a population of random networks:
//!
//! ```sh
//! cargo run --release -p study-fluid-population             # writes its README.md; with ns-2
//! cargo run --release -p study-fluid-population -- --quick  # a tenth of the networks, to the standard output
//! cargo run --release -p study-fluid-population -- --set development   # what constants were fitted to
//! ```

use std::error::Error;
use std::fs;
use std::path::Path;

use clap::Parser;
use netflow_compare::Ns2;
use netflow_results::TestedTcp;
use study_fluid_population::family::{Draw, Family, ModelKind, Set, Tcp};
use study_fluid_population::{evaluate_networks, ns2_comparison, page, scaled};

/// Number of networks of each family.
const NETWORKS: u64 = 60;
/// Number of packet runs.
const SEEDS: u64 = 3;

#[derive(Parser)]
struct Arguments {
    /// Which networks.
    #[arg(long, default_value = "test")]
    set: Set,
    /// The TCP of all windows; a page is written of the first.
    #[arg(long, default_value = "ns-reno")]
    tcp: Tcp,
    /// Six networks of each family instead of sixty, and no page.
    #[arg(long)]
    quick: bool,
    /// Only networks with higher bandwidths, and no page.
    #[arg(long)]
    scaled: bool,
    /// Write the scenarios to this directory instead of running them.
    #[arg(long, value_name = "DIR")]
    write: Option<std::path::PathBuf>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::parse();
    let networks = if arguments.quick {
        NETWORKS / 10
    } else {
        NETWORKS
    };
    if let Some(directory) = &arguments.write {
        fs::create_dir_all(directory)?;
        for family in Family::ALL {
            for number in 0..networks {
                let draw = Draw::new(family, arguments.set, number).with(arguments.tcp);
                fs::write(
                    directory.join(format!("{}.toml", draw.name)),
                    draw.text(ModelKind::Fluid),
                )?;
            }
        }
        return Ok(());
    }
    let evaluate_scaled = || {
        let networks = if arguments.quick { 1 } else { scaled::NETWORKS };
        scaled::evaluate_scaled(arguments.set, arguments.tcp, networks)
    };
    if arguments.scaled {
        print!("{}", scaled::table(&evaluate_scaled()));
        return Ok(());
    }
    let found = evaluate_networks(arguments.set, arguments.tcp, networks, SEEDS);
    print!(
        "{}\n{}\n{}\n{}\n{}\n",
        page::table(&found),
        page::spread(&found),
        page::calibrated(&found),
        page::oscillations(&found),
        page::costs(&found)
    );
    // Accuracy is printed for these TCPs.
    let printed = match arguments.tcp {
        Tcp::NsReno => Some(TestedTcp::Reno),
        Tcp::LinuxCubic => Some(TestedTcp::Cubic),
        Tcp::LinuxReno => None,
    };
    if let Some(tcp) = printed.filter(|_| !arguments.quick && arguments.set == Set::Test) {
        page::check(&found, tcp)?;
    }
    let higher = evaluate_scaled();
    print!("{}", scaled::table(&higher));
    if arguments.quick || arguments.set == Set::Development || arguments.tcp != Tcp::NsReno {
        return Ok(());
    }
    let ns = Ns2::find()?;
    let judged = ns2_comparison::compare_with_ns2(&ns, arguments.set, networks, SEEDS as u32)?;
    print!("\n{}", page::ns2_table(&judged));
    let text = page::page(
        &found,
        &higher,
        &judged,
        include_str!("head.md"),
        include_str!("before.md"),
    );
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    fs::write(root.join("studies/fluid-population/README.md"), text)?;
    Ok(())
}
