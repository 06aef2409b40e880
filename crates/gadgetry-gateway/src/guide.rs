//! The pages about the gateway in `docs/guide`. Their code is compiled as doc tests.

#[doc = include_str!("../../../docs/guide/gateway.md")]
mod gateway {}

#[doc = include_str!("../../../docs/guide/gateway-deployment.md")]
mod gateway_deployment {}
