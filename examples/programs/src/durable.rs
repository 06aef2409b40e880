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
pub(crate) async fn process(
    model: impl Model + 'static,
    journal: &SqliteJournal,
    order: u32,
) -> Result<String, Error> {
    let agent = Agent::builder()
        .model(model)
        .gadgets((Charge, Mail))
        .build()?;
    let run = agent.durable(journal).run_id(format!("order-{order}"));
    let run = run.ask("Charge the order, then mail the customer").await?;
    Ok(run.text().await?)
}

#[tokio::main]
pub(crate) async fn main() -> Result<(), Error> {
    let journal = SqliteJournal::open("orders.db")?;
    let answer = process(gadgetry::model("haiku")?, &journal, 42).await?;
    println!("{answer}");
    Ok(())
}
