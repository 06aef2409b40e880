#![no_main]

use gadgetry_fuzz::properties;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| properties::tag(data));
