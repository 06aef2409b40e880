//! Parameters: the types that a schema is made of, descriptions, and examples of calls.
//!
//! `cargo run -p gadgetry --example schemas`

#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;

use gadgetry::{
    Agent, Example, ExecutionContext, Gadget, GadgetError, GadgetInfo, IntoGadget, Toolbox, gadget,
    prompt_text, validate_gadget_params,
};
use gadgetry_testing::MockModel;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

// Descriptions: the doc comment of a parameter.

/// Search for items
#[gadget]
fn find(
    /// Search query
    query: String,
) -> String {
    format!("Results for: {query}")
}

// Basic types.

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Choice {
    Option1,
    Option2,
}

/// Takes every basic type
#[gadget]
fn basic(text: String, number: f64, whole: i64, flag: bool, choice: Choice) -> String {
    format!("{text} {number} {whole} {flag} {choice:?}")
}

// Optional parameters, and defaults. The model reads the default.

/// Has parameters that may be left out
#[gadget]
fn lenient(
    required: String,
    optional: Option<String>,
    #[gadget(default = "default")] with_default: String,
) -> String {
    format!("{required} {optional:?} {with_default}")
}

// Arrays.

/// Takes lists
#[gadget]
fn lists(items: Vec<String>, numbers: Vec<f64>) -> String {
    format!("{} items, {} numbers", items.len(), numbers.len())
}

// Nested objects.

#[derive(Deserialize, JsonSchema)]
struct User {
    name: String,
    age: u8,
}

#[derive(Deserialize, JsonSchema)]
struct Settings {
    theme: Theme,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Theme {
    Light,
    Dark,
}

/// Takes objects
#[gadget]
fn nested(user: User, settings: Settings) -> String {
    format!("{} ({}) likes it {:?}", user.name, user.age, settings.theme)
}

// Descriptions that say formats and units, and bounds that are checked.

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Format {
    Json,
    Csv,
    Xml,
}

/// Searches the catalogue
#[gadget]
fn search(
    /// Search query - supports wildcards like * and ?
    query: String,
    /// Maximum number of results to return
    #[schemars(range(min = 1, max = 100))]
    limit: u32,
    /// Output format for results
    format: Format,
) -> String {
    format!("{limit} results for {query} as {format:?}")
}

// Descriptions of nested objects: doc comments of fields.

#[derive(Deserialize, JsonSchema)]
struct NewUser {
    /// Full name of the user
    name: String,
    /// Contact email address
    #[schemars(email)]
    email: String,
}

#[derive(Deserialize, JsonSchema)]
struct AccountOptions {
    /// Whether to send welcome email
    notify: bool,
    /// Permission level
    role: Role,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Role {
    Admin,
    User,
    Guest,
}

/// Creates an account
#[gadget]
fn create_account(
    /// User information to create
    user: NewUser,
    /// Account creation options
    options: AccountOptions,
) -> String {
    let notified = if options.notify {
        "notified"
    } else {
        "not notified"
    };
    format!(
        "{} <{}> is {:?}, {notified}",
        user.name, user.email, options.role
    )
}

// Examples of calls, on a function and on a type. They are checked against the schema.

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Operation {
    Add,
    Subtract,
    Multiply,
    Divide,
}

/// Performs arithmetic operations
#[gadget(example(
    params = {"operation": "add", "a": 15, "b": 23},
    output = "38",
    comment = "Add two numbers",
))]
fn calculator(
    operation: Operation,
    /// First number
    a: f64,
    /// Second number
    b: f64,
) -> String {
    let result = match operation {
        Operation::Add => a + b,
        Operation::Subtract => a - b,
        Operation::Multiply => a * b,
        Operation::Divide => a / b,
    };
    result.to_string()
}

struct StringProcessor;

#[derive(Deserialize, JsonSchema)]
struct StringParams {
    text: String,
    operation: StringOperation,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum StringOperation {
    Reverse,
    Uppercase,
    Lowercase,
}

impl Gadget for StringProcessor {
    type Params = StringParams;
    type Output = String;

    fn info(&self) -> GadgetInfo {
        let example = |text: &str, operation: &str| {
            Example::new(json!({ "text": text, "operation": operation }))
        };
        GadgetInfo::new("StringProcessor", "Processes strings")
            .example(
                example("Hello", "reverse")
                    .output("olleH")
                    .comment("Reverse a string"),
            )
            .example(
                example("hello", "uppercase")
                    .output("HELLO")
                    .comment("Convert to uppercase"),
            )
    }

    async fn execute(
        &self,
        params: StringParams,
        _context: ExecutionContext,
    ) -> Result<String, GadgetError> {
        Ok(match params.operation {
            StringOperation::Reverse => params.text.chars().rev().collect(),
            StringOperation::Uppercase => params.text.to_uppercase(),
            StringOperation::Lowercase => params.text.to_lowercase(),
        })
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    println!("Calls and their results:\n");
    let basics =
        json!({ "text": "x", "number": 0.5, "whole": 7, "flag": true, "choice": "option2" });
    accepts(Basic, basics);
    refuses(
        Basic,
        json!({ "text": "x", "number": "much", "whole": 0.5, "flag": true, "choice": "option3" }),
        &["number", "whole", "choice"],
    );
    let completed = accepts(Lenient, json!({ "required": "r" }));
    assert_eq!(completed["with_default"], "default");
    assert_eq!(completed.get("optional"), None);
    refuses(Lenient, json!({}), &["required"]);
    accepts(Lists, json!({ "items": ["a", "b"], "numbers": [] }));
    refuses(
        Lists,
        json!({ "items": ["a", 1], "numbers": [] }),
        &["items.1"],
    );
    accepts(
        Nested,
        json!({ "user": { "name": "Ada", "age": 36 }, "settings": { "theme": "dark" } }),
    );
    refuses(
        Nested,
        json!({ "user": { "name": "Ada", "age": 360 }, "settings": { "theme": "red" } }),
        &["user.age", "settings.theme"],
    );
    accepts(
        Search,
        json!({ "query": "tea*", "limit": 100, "format": "csv" }),
    );
    refuses(
        Search,
        json!({ "query": "tea*", "limit": 101, "format": "pdf" }),
        &["limit", "format"],
    );
    refuses(
        CreateAccount,
        json!({ "user": { "name": "Ada", "email": "ada" }, "options": { "notify": true, "role": "guest" } }),
        &["user.email"],
    );

    let create_account = CreateAccount.into_gadget();
    let user = &create_account.spec().parameters["properties"]["user"];
    assert_eq!(user["description"], "User information to create");
    assert_eq!(
        user["properties"]["email"]["description"],
        "Contact email address"
    );

    println!("What the model reads:\n");
    let model = MockModel::in_order(["I have read it."]);
    let agent = Agent::builder().model(model.clone());
    let agent = agent
        .gadget(Find)
        .gadget(Search)
        .gadget(Calculator)
        .gadget(StringProcessor);
    agent.ask("Read it")?.text().await?;
    let request = model.last_request().ok_or("there was a request")?;
    let prompt = prompt_text(&request.messages[0]);
    println!("{prompt}");
    for text in [
        "Search query",
        "Maximum number of results to return",
        "Add two numbers",
        "Convert to uppercase",
        "olleH",
    ] {
        assert!(prompt.contains(text), "{text} is missing");
    }

    // An example that a model had better not imitate is found when the gadget is added.
    let wrong = Example::new(json!({ "text": "Hello", "operation": "shout" }));
    let added = Toolbox::default().add(WithExample(wrong));
    let error = added.err().ok_or("the example is wrong")?.to_string();
    println!("\n{error}");
    assert!(
        error.starts_with("example 1 of gadget 'Echo' does not fit its parameters: operation:")
    );
    Ok(())
}

/// Checks a call as an agent would, and gives what the gadget would get.
fn accepts<G: Gadget>(gadget: G, params: Value) -> Value {
    let name = gadget.info().name;
    match validate_gadget_params(gadget, params) {
        Ok(completed) => {
            println!("{name}: {completed}\n");
            completed
        }
        Err(error) => panic!("{name}: {error}"),
    }
}

/// Checks a call that is wrong at these places.
fn refuses<G: Gadget>(gadget: G, params: Value, wrong: &[&str]) {
    let name = gadget.info().name;
    match validate_gadget_params(gadget, params) {
        Ok(completed) => panic!("{name} takes {completed}"),
        Err(error) => {
            println!("{name}: {error}\n");
            let found: Vec<&str> = error
                .problems
                .iter()
                .map(|it| it.pointer.as_str())
                .collect();
            assert_eq!(found, wrong);
        }
    }
}

struct WithExample(Example);

impl Gadget for WithExample {
    type Params = StringParams;
    type Output = String;

    fn info(&self) -> GadgetInfo {
        GadgetInfo::new("Echo", "Says it again").example(self.0.clone())
    }

    async fn execute(
        &self,
        params: StringParams,
        _: ExecutionContext,
    ) -> Result<String, GadgetError> {
        Ok(params.text)
    }
}
