//! A run that survives its process: start it, kill it, start it again, and the charge is made once.

use gadgetry::{Agent, Model, gadget};
use gadgetry_store::SqliteJournal;

use crate::Error;

/// Charges a customer
#[gadget]
fn charge(customer: String, euros: u32) -> String {
    println!("charging {customer}");
    format!("charged {euros} EUR")
}

/// Sends a mail
#[gadget(on_interrupt = "rerun")]
fn mail(to: String, text: String) -> String {
    println!("mailing {to}: {text}");
    "sent".to_owned()
}

/// Begins the run about an order, or continues it where it was when its process ended.
pub(crate) async fn run(model: impl Model + 'static, db: &SqliteJournal) -> Result<String, Error> {
    let agent = Agent::builder().model(model).gadgets((Charge, Mail));
    let agent = agent.build()?;
    let run = agent.durable(db).run_id("order-42");
    let run = run.ask("Charge the order, then mail the customer").await?;
    Ok(run.text().await?)
}

#[tokio::main]
pub(crate) async fn main() -> Result<(), Error> {
    let journal = SqliteJournal::open("orders.db")?;
    let answer = run(gadgetry::model("haiku")?, &journal).await?;
    println!("{answer}");
    Ok(())
}
