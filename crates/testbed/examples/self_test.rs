fn main() {
    netflow_testbed::self_test(|row| println!("{}: {} [{}]", row.what, row.outcome, row.measured));
}
