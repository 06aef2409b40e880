//! The clerk of a small shop: the program of `docs/guide/tutorial.md`, which shows it piece by piece.

use std::fs::File;
use std::sync::{Mutex, PoisonError};

use gadgetry::approval::{Answer, ApprovalRequest, Approvals, Approver, Rules};
use gadgetry::log::LogWriter;
use gadgetry::{Agent, AgentBuilder, Model, ScriptedModel, gadget};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

type Error = Box<dyn std::error::Error>;

/// An order of the shop.
#[derive(Clone, Serialize)]
struct Order {
    id: u32,
    customer: &'static str,
    goods: &'static str,
    euros: f64,
    refunded: bool,
}

/// In a real shop: the connections to a database.
struct Shop(Mutex<Vec<Order>>);

/// Lists the orders of a customer
#[gadget]
fn orders(
    #[gadget(with)] shop: &Shop,
    /// First name, in lower case
    customer: String,
) -> Vec<Order> {
    let orders = shop.0.lock().unwrap_or_else(PoisonError::into_inner);
    let own = orders.iter().filter(|it| it.customer == customer);
    own.cloned().collect()
}

#[derive(Deserialize, JsonSchema)]
enum Currency {
    Usd,
    Jpy,
}

/// Converts an amount of euros
#[gadget]
fn convert(euros: f64, currency: Currency) -> f64 {
    let rate = match currency {
        Currency::Usd => 1.1,
        Currency::Jpy => 160.0,
    };
    (euros * rate * 100.0).round() / 100.0
}

/// Refunds an order
#[gadget(permission = "ask", unterminated = "confirm")]
fn refund(#[gadget(with)] shop: &Shop, order: u32) -> Result<String, &'static str> {
    let mut orders = shop.0.lock().unwrap_or_else(PoisonError::into_inner);
    let found = orders.iter_mut().find(|it| it.id == order);
    let found = found.ok_or("there is no such order")?;
    found.refunded = true;
    Ok(format!("{} euros will be refunded", found.euros))
}

fn shop() -> Shop {
    let order = |id, customer, goods, euros| Order {
        id,
        customer,
        goods,
        euros,
        refunded: false,
    };
    Shop(Mutex::new(vec![
        order(1, "ada", "a teapot", 30.0),
        order(2, "bob", "a kettle", 55.5),
    ]))
}

/// The agent. The approver decides about each refund.
fn clerk(model: impl Model + 'static, approver: impl Approver + 'static) -> AgentBuilder {
    Agent::builder()
        .model(model)
        .system("You are the clerk of a shop. Be brief.")
        .gadget(Orders)
        .gadget(Convert)
        .gadget(Refund)
        .with(shop())
        .approvals(Approvals::new(Rules::default()).approver(approver))
        .max_iterations(8)
}

/// Shows what would be refunded, and reads `y` or something else from the terminal.
async fn ask_at_the_terminal(request: ApprovalRequest) -> Answer {
    println!("{} {}? [y/n]", request.gadget, request.parameters);
    let mut line = String::new();
    match std::io::stdin().read_line(&mut line) {
        Ok(_) if line.trim() == "y" => Answer::Once,
        _ => Answer::No(None),
    }
}

/// Answers a question, and writes everything that happens into `run.jsonl`.
async fn answer(agent: AgentBuilder, question: &str) -> Result<String, Error> {
    let mut run = agent.ask(question)?;
    let mut log = LogWriter::new(File::create("run.jsonl")?, &run.header().await?)?;
    let finished = run.observe(&mut log).await?;
    log.finish()?;
    Ok(finished.summary.answer)
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    let question = "I am Ada. What did I order, and what is that in dollars?";
    let agent = match std::env::args().nth(1) {
        Some(name) => clerk(gadgetry::model(&name)?, ask_at_the_terminal),
        // A model that reads its replies from a file: no key, no network.
        None => clerk(
            ScriptedModel::from_path("replies.jsonl".as_ref())?,
            ask_at_the_terminal,
        ),
    };
    println!("{}", answer(agent, question).await?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::future::ready;

    use gadgetry_testing::{EventLog, MockModel, call, reply};

    use super::*;

    #[tokio::test]
    async fn a_refund_needs_approval() {
        for (answer, outcome) in [
            (Answer::Once, "30 euros will be refunded"),
            (Answer::No(None), "denied"),
        ] {
            let model = MockModel::in_order([
                reply().call(call("Refund").id("money").arg("order", 1)),
                reply().text("Done."),
            ]);
            let log = EventLog::default();
            let approver = move |_| ready(answer.clone());
            let agent = clerk(model, approver).observer(log.clone());
            agent
                .ask("Refund my teapot.")
                .unwrap()
                .text()
                .await
                .unwrap();
            assert!(log.render().contains(outcome), "{}", log.render());
        }
    }

    #[tokio::test]
    async fn one_reply_lists_and_converts() {
        let model = MockModel::in_order([
            reply().calls([
                call("Orders").id("mine").arg("customer", "ada"),
                call("Convert")
                    .id("dollars")
                    .after("mine")
                    .arg("euros", "${mine/0/euros}")
                    .arg("currency", "Usd"),
            ]),
            reply().text("A teapot, for 33 dollars."),
        ]);
        let log = EventLog::default();
        let agent = clerk(model.clone(), |_| ready(Answer::No(None))).observer(log.clone());
        let answer = agent.ask("What did Ada order?").unwrap().text().await;
        assert_eq!(answer.unwrap(), "A teapot, for 33 dollars.");
        assert_eq!(log.expect_result("dollars"), "33");
        model.verify();
    }
}
