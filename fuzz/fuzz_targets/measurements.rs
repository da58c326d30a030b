#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| netflow_hostile::measurements(bytes));
