#![no_main]

use gadgetry_gateway::ClientApi;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| gadgetry_fuzz::gateway(ClientApi::Responses, data));
