//! What becomes of what a typed gadget returns.

use std::error::Error;
use std::fmt;
use std::io;

use gadgetry::proto::call::Outcome;
use gadgetry::{
    ExecutionContext, Gadget, GadgetError, GadgetInfo, GadgetOutput, Media, MediaData, MediaKind,
    NoParams,
};
use serde_json::json;

use super::support::execute;

/// A gadget that returns what `0` makes, after it has reported 0.25 dollars.
struct Returns<F>(F);

impl<F, O> Gadget for Returns<F>
where
    F: Fn() -> Result<O, GadgetError> + Send + Sync + 'static,
    O: Into<GadgetOutput> + Send + 'static,
{
    type Params = NoParams;
    type Output = O;

    fn info(&self) -> GadgetInfo {
        GadgetInfo::new("Returns", "")
    }

    async fn execute(&self, _: NoParams, context: ExecutionContext) -> Result<O, GadgetError> {
        context.report_cost(0.25)?;
        self.0()
    }
}

async fn check<O: Into<GadgetOutput> + Send + 'static>(
    returns: impl Fn() -> Result<O, GadgetError> + Send + Sync + 'static,
    expected: Outcome,
) {
    assert_eq!(execute(Returns(returns), json!({})).await, expected);
}

fn costs(cost: f64, outcome: Outcome) -> Outcome {
    Outcome { cost, ..outcome }
}

/// An error that says `0`, with a cause if there are more words.
#[derive(Debug)]
struct Chain(&'static str, Option<Box<Chain>>);

impl fmt::Display for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl Error for Chain {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.1.as_ref().map(|cause| cause.as_ref() as _)
    }
}

fn chain(words: &[&'static str]) -> Chain {
    let (first, rest) = words.split_first().unwrap();
    Chain(first, (!rest.is_empty()).then(|| Box::new(chain(rest))))
}

#[tokio::test]
async fn results() {
    check(|| Ok("text"), costs(0.25, Outcome::ok("text"))).await;
    check(
        || Ok(json!({ "a": 1 })),
        costs(0.25, Outcome::ok("{\"a\":1}")),
    )
    .await;
    check(|| Ok(()), costs(0.25, Outcome::ok(""))).await;
    let paid = || {
        Ok(GadgetOutput::from([1, 2])
            .with_cost(0.5)
            .with_cost(f64::NAN))
    };
    check(paid, costs(0.75, Outcome::ok("[1,2]"))).await;
    check(
        || Ok(std::collections::BTreeMap::from([((), 1)])),
        costs(
            0.25,
            Outcome::error("The result cannot be written as JSON: key must be a string"),
        ),
    )
    .await;
}

#[tokio::test]
async fn media_belong_to_a_result() {
    let medium = |kind, mime_type: &str, data, name: Option<&str>| Media {
        kind,
        mime_type: mime_type.to_owned(),
        data,
        name: name.map(str::to_owned),
    };
    let base64 = |text: &str| MediaData::Base64(text.to_owned());
    let elsewhere = medium(
        MediaKind::Image,
        "image/svg+xml",
        MediaData::Url("https://example.com/a.svg".to_owned()),
        None,
    );
    let media = vec![
        medium(MediaKind::Image, "image/png", base64("iVA="), None),
        medium(MediaKind::Audio, "audio/mpeg", base64("//s="), None),
        medium(MediaKind::File, "text/csv", base64("YSxi"), Some("a.csv")),
        elsewhere.clone(),
    ];
    let returns = move || {
        let output = GadgetOutput::new("see")
            .with_image("image/png", [0x89, 0x50])
            .with_audio("audio/mpeg", [0xff, 0xfb])
            .with_file("a.csv", "text/csv", "a,b")
            .with_media(elsewhere.clone());
        Ok(output)
    };
    let outcome = Outcome {
        media,
        ..costs(0.25, Outcome::ok("see"))
    };
    check(returns, outcome).await;
}

#[tokio::test]
async fn errors_include_their_causes() {
    let told = async |words: &'static [&'static str], text: &str| {
        let fails = move || Err::<(), _>(chain(words).into());
        check(fails, costs(0.25, Outcome::error(text))).await;
    };
    told(&["one"], "one").await;
    told(&["one", "two", "three"], "one: two: three").await;
    told(&["one: two", "two", "three"], "one: two: three").await;
    told(&["a"; 3], "a").await;
    told(
        &["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"],
        "0: 1: 2: 3: 4: 5: 6: 7: 8",
    )
    .await;
}

#[tokio::test]
async fn failures_cost_too() {
    let fails = || Err::<(), _>(GadgetError::new("no").with_cost(0.5).with_cost(-1.0));
    check(fails, costs(0.75, Outcome::error("no"))).await;
    check(
        || Err::<(), _>(GadgetError::cancelled()),
        costs(0.25, Outcome::error("Gadget execution was cancelled")),
    )
    .await;
    check(
        || -> Result<(), _> { panic!("oh no") },
        costs(0.25, Outcome::error("Returns panicked: oh no")),
    )
    .await;
}

#[tokio::test]
async fn the_end_of_a_run_and_questions() {
    let ends = || Err::<(), _>(GadgetError::task_complete("All done").with_cost(0.5));
    let ended = Outcome {
        completes_run: true,
        ..costs(0.75, Outcome::ok("All done"))
    };
    check(ends, ended).await;
    let asks = || Err::<(), _>(GadgetError::human_input_required("Which one?"));
    let asked = Outcome {
        asks_human: Some("Which one?".to_owned()),
        ..costs(
            0.25,
            Outcome::error(
                "The question has no answer: no user is available in this run, or they declined. The question was: Which one?",
            ),
        )
    };
    check(asks, asked).await;
}

#[test]
fn errors_can_be_looked_into() {
    let error: GadgetError = io::Error::from(io::ErrorKind::NotFound).into();
    let inside = error.downcast_ref::<io::Error>().map(io::Error::kind);
    assert_eq!(inside, Some(io::ErrorKind::NotFound));
    assert!(error.downcast_ref::<fmt::Error>().is_none());
    assert!(
        GadgetError::cancelled()
            .downcast_ref::<io::Error>()
            .is_none()
    );
    let debug = format!("{:?}", GadgetError::new("no").with_cost(0.5));
    assert_eq!(debug, r#"GadgetError { Failed: "no", cost: 0.5 }"#);
}
