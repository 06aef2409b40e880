//! Each program with a scripted model, its real server, and its real client.

use gadgetry::approval::{Approvals, Rules};
use gadgetry::{GadgetSpec, Outcome, Toolbox, from_fn, prompt_text};
use gadgetry_mcp::{GadgetServer, HttpOptions, ServerConfig};
use gadgetry_proto::reply::ReplyEvent;
use gadgetry_testing::{MockModel, call, reply};

use crate::Error;

/// An HTTP client that does not go through a proxy.
fn client() -> reqwest::Client {
    let (tls, _) = gadgetry_providers::tls::config();
    let client = reqwest::Client::builder().tls_backend_preconfigured(tls);
    client.no_proxy().build().expect("valid options")
}

async fn get(url: String) -> reqwest::Result<reqwest::Response> {
    client().get(url).send().await
}

/// Serves an app on a port of its own, and returns its address.
async fn served(app: axum::Router) -> Result<String, Error> {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move { axum::serve(listener, app).await });
    Ok(format!("http://{address}"))
}

#[tokio::test]
async fn weather() -> Result<(), Error> {
    let model = MockModel::in_order([
        reply().call(call("Weather").id("w").arg("city", "Paris")),
        reply().text("It is sunny."),
    ]);
    assert_eq!(
        crate::weather::ask(model).await?,
        ("It is sunny.".to_owned(), 1)
    );
    Ok(())
}

#[tokio::test]
async fn weather_of_a_model_that_calls_nothing() -> Result<(), Error> {
    let model = MockModel::in_order([reply().text("Paris is in France.")]);
    assert_eq!(crate::weather::ask(model).await?.1, 0);
    Ok(())
}

#[tokio::test]
async fn stream() -> Result<(), Error> {
    let model = MockModel::in_order([reply().text("Hello!")]);
    let address = served(crate::stream::app(model)?).await?;
    let text = get(format!("{address}/ask?prompt=Hi"))
        .await?
        .text()
        .await?;
    assert!(text.contains(r#""type":"text""#), "{text}");
    assert!(text.contains(r#""answer":"Hello!""#), "{text}");
    Ok(())
}

#[tokio::test]
async fn typed() -> Result<(), Error> {
    let review = |mood: &str| {
        call("FinalAnswer")
            .arg("mood", mood)
            .arg("stars", "1")
            .arg("products", r#"["kettle", "mug"]"#)
    };
    let model = MockModel::in_order([
        reply().call(review("furious")),
        reply().call(review("angry")),
        reply().call(call("FinalAnswer").arg("answer", "11")),
    ]);
    let (read, words) = crate::typed::read(model, "It leaks.").await?;
    let (read, words) = (read.value, words.value);
    assert_eq!(
        (read.mood, read.stars, words),
        (crate::typed::Mood::Angry, 1, 11)
    );
    assert_eq!(read.products, ["kettle", "mug"]);
    Ok(())
}

#[tokio::test]
async fn state() -> Result<(), Error> {
    let model = MockModel::builder()
        .when(|m| m.last_message_contains("Remember"))
        .replies_with_call(call("Remember").arg("text", "tea"))
        .when(|m| m.last_message_contains("What"))
        .replies_with_call(call("List").id("all"))
        .when(|m| m.last_message_contains("kept"))
        .replies_text("Yes.")
        .when(|m| m.last_message_contains("[\"tea\"]"))
        .replies_text("You like tea.")
        .when(|m| m.last_message_contains("[]"))
        .replies_text("Nothing.")
        .build();
    let agent = crate::state::agent(model, crate::state::Notes::default())?;
    for (user, prompt, expected) in [
        ("ada", "Remember tea", "Yes."),
        ("bob", "What do you know?", "Nothing."),
        ("ada", "What do you know?", "You like tea."),
    ] {
        assert_eq!(crate::state::answer(&agent, user, prompt).await?, expected);
    }
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn plan() -> Result<(), Error> {
    let model = MockModel::in_order([
        reply().calls([
            call("Fetch").id("users").arg("url", "/users"),
            call("Fetch").id("orders").arg("url", "/orders"),
            call("Join")
                .after("users")
                .after("orders")
                .arg("left", "${users/0/from}")
                .arg("right", "${orders}"),
        ]),
        reply().text("Done."),
    ]);
    let began = tokio::time::Instant::now();
    let called = crate::plan::run(model.clone()).await?;
    assert_eq!(called, ["Fetch", "Fetch", "Join"]);
    assert_eq!(began.elapsed(), std::time::Duration::from_millis(100));
    let last = model.last_request().ok_or("there were two requests")?;
    let results = prompt_text(last.messages.last().ok_or("there are results")?);
    assert!(results.contains(r#""Seoul" "[4,8]""#), "{results}");
    Ok(())
}

#[tokio::test]
async fn approvals() -> Result<(), Error> {
    let folder = tempfile::tempdir()?;
    let model = || {
        MockModel::builder()
            .when(|m| m.iteration(1))
            .replies_with_call(call("Refund").arg("customer", "Kim").arg("euros", "20"))
            .when(|m| m.iteration(2).last_message_contains("Kim has 20 EUR back"))
            .replies_text("Kim has the money.")
            .build()
    };
    let journal = || gadgetry_store::SqliteJournal::open(folder.path().join("refunds.db"));
    let client = client();

    // A process that ends while the question is open: everything of it is dropped.
    let first = tokio::runtime::Runtime::new()?;
    let (kept, began) = (journal()?, client.clone());
    first
        .spawn(async move {
            let address = served(crate::approvals::app(model(), kept).await?).await?;
            began
                .post(format!("{address}/refunds/7"))
                .body("It leaks")
                .send()
                .await?
                .error_for_status()?;
            open(&began, &address).await
        })
        .await??;
    first.shutdown_background();

    let address = served(crate::approvals::app(model(), journal()?).await?).await?;
    let id = open(&client, &address).await?;
    let get = async || {
        client
            .get(format!("{address}/refunds/7"))
            .send()
            .await?
            .text()
            .await
    };
    assert_eq!(get().await?, "not decided yet");
    let allowed = client.post(format!("{address}/runs/7/approvals/{id}"));
    let allowed = allowed
        .header("content-type", "application/json")
        .body(r#"{"answer": "allowed"}"#);
    allowed.send().await?.error_for_status()?;
    while get().await? == "not decided yet" {
        tokio::task::yield_now().await;
    }
    assert_eq!(get().await?, "Kim has the money.");
    Ok(())
}

/// Waits for the approval of run 7, and returns its id.
async fn open(client: &reqwest::Client, address: &str) -> Result<String, Error> {
    loop {
        let all = client
            .get(format!("{address}/runs/7/approvals"))
            .send()
            .await?;
        let all: serde_json::Value = serde_json::from_str(&all.text().await?)?;
        if let Some(approval) = all["approvals"].get(0) {
            return Ok(approval["approval"].as_str().expect("an id").to_owned());
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn chat() -> Result<(), Error> {
    let model = MockModel::builder()
        .when(|m| m.last_message_contains("I am Kim"))
        .replies_text("Hello!")
        .when(|m| m.last_message_contains("Who am I?"))
        .replies_by(|request| reply().text(format!("{} messages", request.messages.len())))
        .build();
    let address = served(crate::chat::app(model)?).await?;
    let client = client();
    let say = async |session: &str, text: &'static str| {
        let sent = client
            .post(format!("{address}/chat/{session}"))
            .body(text)
            .send()
            .await?;
        sent.text().await
    };
    assert!(say("a", "I am Kim").await?.contains("Hello!"));
    assert!(say("a", "Who am I?").await?.contains("3 messages"));
    assert!(say("b", "Who am I?").await?.contains("1 messages"));
    Ok(())
}

#[tokio::test]
async fn durable() -> Result<(), Error> {
    let folder = tempfile::tempdir()?;
    let journal = gadgetry_store::SqliteJournal::open(folder.path().join("orders.db"))?;
    let model = || {
        MockModel::builder()
            .when(|m| m.iteration(1))
            .replies_with_call(call("Charge").arg("customer", "Kim").arg("euros", "20"))
            .when(|m| m.iteration(2))
            .replies_with_call(call("Mail").arg("to", "Kim").arg("text", "Thank you"))
            .when(|m| m.iteration(3))
            .replies_text("Charged and mailed.")
            .build()
    };
    for calls in [3, 0] {
        let model = model();
        let answer = crate::durable::run(model.clone(), &journal).await?;
        assert_eq!(
            (answer.as_str(), model.requests().len()),
            ("Charged and mailed.", calls)
        );
    }
    Ok(())
}

#[tokio::test]
async fn tags() -> Result<(), Error> {
    let text =
        "<think>Old.</think>It costs <money>5</money><citation source=\"city\">ledger</citation>.";
    let model = MockModel::in_order([reply().text(text)]);
    let (answer, sources) = crate::tags::read(model).await?;
    assert_eq!(
        (answer.as_str(), sources),
        ("It costs 5 EUR.", vec!["city".to_owned()])
    );
    Ok(())
}

#[tokio::test]
async fn gateway() -> Result<(), Error> {
    let address = served(crate::gateway::app("http://127.0.0.1:9/v1")?).await?;
    for (path, status) in [("/", 200), ("/llm/healthz", 200), ("/llm/nothing", 404)] {
        assert_eq!(
            get(format!("{address}{path}")).await?.status(),
            status,
            "{path}"
        );
    }
    Ok(())
}

#[tokio::test]
async fn guards() -> Result<(), Error> {
    let read = |path| call("ReadFile").arg("path", path);
    // The second reply is the last one that the limit admits.
    let model = MockModel::in_order([
        reply()
            .call(read("/etc/hosts"))
            .call(read("src/../../x"))
            .tokens(1, 100),
        reply().call(read("src/weather.rs")).tokens(1, 2_000),
    ]);
    let answer = crate::guards::answer(model.clone(), "Read").await?;
    assert_eq!(answer, "");
    let last = model.last_request().ok_or("there were two requests")?;
    let results = prompt_text(last.messages.last().ok_or("there are results")?);
    let denied = results.matches("only files of the project").count();
    assert_eq!(denied, 2, "{results}");
    Ok(())
}

#[tokio::test]
async fn mcp() -> Result<(), Error> {
    let tool = |name: &str| {
        let spec = GadgetSpec {
            name: name.to_owned(),
            ..GadgetSpec::default()
        };
        from_fn(spec, |_, _| async { Outcome::ok("It is a library.") })
    };
    let mut toolbox = Toolbox::default();
    toolbox.add(tool("read_text_file"))?;
    toolbox.add(tool("write_file"))?;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}/mcp", listener.local_addr()?);
    let server = GadgetServer::new(toolbox)?.approvals(Approvals::new(Rules::parse(["allow *"])?));
    let options = HttpOptions::default();
    tokio::spawn(async move {
        let stop = std::future::pending();
        server.serve_http(listener, options, stop).await
    });

    let model = MockModel::in_order([
        reply().calls([call("read_text_file").id("r"), call("write_file").id("w")]),
        reply().text("A library."),
    ]);
    let answer = crate::mcp::answer(model.clone(), ServerConfig::http(url)).await?;
    assert_eq!(answer, "A library.");
    let last = model.last_request().ok_or("there were two requests")?;
    let results = prompt_text(last.messages.last().ok_or("there are results")?);
    assert!(
        results.contains("Result (r): It is a library."),
        "{results}"
    );
    assert!(results.contains("Denied"), "{results}");
    Ok(())
}

#[test]
fn parser() {
    let text = "Hi.\n!!!GADGET_START:Add:sum\n!!!ARG:a\n2\n!!!GADGET_END";
    let by_chars: Vec<&str> = text.split_inclusive(|_: char| true).collect();
    for pieces in [&by_chars[..], &[text]] {
        let mut calls = Vec::new();
        crate::parser::parse(pieces, |event| {
            if let ReplyEvent::Call(block) = event {
                calls.push(block.to_call(None).gadget_name);
            }
        });
        assert_eq!(calls, ["Add"]);
    }
}
