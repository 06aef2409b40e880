//! Serves the gadgets of the tests over stdio. The first argument is a folder of skills, if there is one.

#[path = "../support/toolbox.rs"]
mod toolbox;

use std::future::pending;

use gadgetry::Skills;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server = toolbox::server();
    let server = match std::env::args().nth(1) {
        Some(folder) => server.skills(Skills::from_dir(folder)?),
        None => server,
    };
    server.serve_stdio(pending()).await?;
    Ok(())
}
