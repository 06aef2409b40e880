//! The ways to define a gadget, and an agent that has gadgets of every kind.
//!
//! `cargo run -p gadgetry --example gadgets`

#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;
use std::time::Duration;

use gadgetry::{
    Agent, ExecutionContext, Gadget, GadgetError, GadgetInfo, GadgetSpec, Outcome, from_fn, gadget,
};
use gadgetry_testing::{EventLog, MockModel, call, reply};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Operation {
    Add,
    Subtract,
}

// A function: `#[gadget]` generates the gadget `Calculator`. The doc comment is what the model reads.

/// Performs arithmetic
#[gadget]
fn calculator(operation: Operation, a: f64, b: f64) -> f64 {
    match operation {
        Operation::Add => a + b,
        Operation::Subtract => a - b,
    }
}

// The same as a type, for gadgets that hold something: here, how exactly it rounds.

struct RoundingCalculator {
    digits: usize,
}

#[derive(Deserialize, JsonSchema)]
struct Calculation {
    operation: Operation,
    a: f64,
    b: f64,
}

impl Gadget for RoundingCalculator {
    type Params = Calculation;
    type Output = String;

    fn info(&self) -> GadgetInfo {
        GadgetInfo::new("RoundingCalculator", "Performs arithmetic and rounds")
    }

    async fn execute(
        &self,
        Calculation { operation, a, b }: Calculation,
        _context: ExecutionContext,
    ) -> Result<String, GadgetError> {
        Ok(format!("{:.*}", self.digits, calculator(operation, a, b)))
    }
}

// A type with an optional parameter, a timeout, and work that takes its time.

struct Weather {
    station: WeatherStation,
}

#[derive(Deserialize, JsonSchema)]
struct Place {
    /// City name
    #[schemars(length(min = 1))]
    city: String,
    units: Option<Units>,
}

#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Units {
    Celsius,
    Fahrenheit,
}

impl Gadget for Weather {
    type Params = Place;
    type Output = String;

    fn info(&self) -> GadgetInfo {
        GadgetInfo::new("Weather", "Get weather for a city").timeout(Duration::from_secs(10))
    }

    async fn execute(
        &self,
        Place { city, units }: Place,
        _context: ExecutionContext,
    ) -> Result<String, GadgetError> {
        let celsius = self.station.temperature(&city).await?;
        Ok(match units.unwrap_or(Units::Celsius) {
            Units::Celsius => format!("{city}: {celsius}°C"),
            Units::Fahrenheit => format!("{city}: {}°F", celsius * 9 / 5 + 32),
        })
    }
}

// The same as a function, under a name of its own. Its error is any error; the model reads it.

/// Get weather for a city, in degrees Celsius
#[gadget(name = "weather_now", timeout = "10s")]
async fn current_weather(city: String) -> Result<String, NoSuchCity> {
    let celsius = WeatherStation.temperature(&city).await?;
    Ok(format!("{city}: {celsius}°C"))
}

// A result that is `Serialize` goes to the model as JSON.

#[derive(Serialize)]
struct Page {
    endpoint: String,
    items: Vec<u32>,
}

/// Fetches data from an API
#[gadget(timeout = "30s")]
async fn fetch(endpoint: String) -> Result<Page, std::io::Error> {
    match endpoint.as_str() {
        "/slow" => tokio::time::sleep(Duration::from_hours(1)).await,
        _ => tokio::time::sleep(Duration::from_millis(200)).await,
    }
    let items = vec![17, 23];
    Ok(Page { endpoint, items })
}

// The clock is paused: hours pass at once.
#[tokio::main(flavor = "current_thread", start_paused = true)]
async fn main() -> Result<(), Box<dyn Error>> {
    // A gadget that is known only when the program runs: a name, a JSON Schema, a closure.
    let shout = from_fn(
        GadgetSpec {
            name: "Shout".to_owned(),
            description: "Says it louder".to_owned(),
            parameters: json!({
                "type": "object",
                "properties": { "text": { "type": "string" } },
                "required": ["text"],
            }),
            ..GadgetSpec::default()
        },
        |params, _context| async move {
            let text = params["text"].as_str().unwrap_or_default();
            Outcome::ok(text.to_uppercase())
        },
    );

    // The model of this example is a script: one reply with seven calls, and an answer.
    let model = MockModel::in_order([
        reply().calls([
            call("Calculator")
                .id("sum")
                .args(json!({ "operation": "add", "a": 15, "b": 23 })),
            call("RoundingCalculator")
                .id("diff")
                .args(json!({ "operation": "subtract", "a": 1, "b": 0.5 })),
            call("Weather")
                .id("paris")
                .args(json!({ "city": "Paris", "units": "fahrenheit" })),
            call("weather_now").id("oslo").arg("city", "Oslo"),
            call("Fetch").id("page").arg("endpoint", "/items"),
            call("Fetch").id("slow").arg("endpoint", "/slow"),
            call("shout").id("loud").arg("text", "case does not matter"),
        ]),
        reply().text("All done."),
    ]);

    // However they were defined, gadgets are added in the same way.
    let log = EventLog::default();
    let agent = Agent::builder()
        .model(model)
        .gadget(Calculator)
        .gadget(RoundingCalculator { digits: 2 })
        .gadget(Weather {
            station: WeatherStation,
        })
        .gadget(CurrentWeather)
        .gadget(Fetch)
        .gadget(shout)
        .observer(log.clone());
    let answer = agent.ask("Try everything")?.text().await?;

    print!("{}", log.render());
    assert_eq!(answer, "All done.");
    assert_eq!(log.expect_result("sum"), "38");
    assert_eq!(log.expect_result("diff"), "0.50");
    assert_eq!(log.expect_result("paris"), "Paris: 69°F");
    assert_eq!(log.expect_error("oslo"), "no weather for Oslo");
    assert_eq!(
        log.expect_result("page"),
        r#"{"endpoint":"/items","items":[17,23]}"#
    );
    assert_eq!(
        log.expect_error("slow"),
        "Gadget 'Fetch' execution exceeded timeout of 30000ms"
    );
    assert_eq!(log.expect_result("loud"), "CASE DOES NOT MATTER");
    // The function itself is still there.
    assert!((calculator(Operation::Add, 1.0, 2.0) - 3.0).abs() < f64::EPSILON);
    Ok(())
}

/// Simulates a network service.
struct WeatherStation;

impl WeatherStation {
    async fn temperature(&self, city: &str) -> Result<i32, NoSuchCity> {
        tokio::time::sleep(Duration::from_millis(300)).await;
        match city {
            "Paris" => Ok(21),
            _ => Err(NoSuchCity(city.to_owned())),
        }
    }
}

#[derive(Debug, thiserror::Error)]
#[error("no weather for {0}")]
struct NoSuchCity(String);
