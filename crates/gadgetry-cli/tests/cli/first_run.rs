//! The first minute: what a user sees who has chosen no model.

use super::doctor::NO_SERVERS;
use super::screen::Screen;
use super::server::{Reply, Server};
use super::workshop::{Ended, Workshop, reply};

/// A server of models with one model, which answers a question.
fn ollama() -> Server {
    let list = r#"{"data":[{"id":"small"}]}"#.to_owned();
    Server::start([Reply::Gets("/v1/models", "200 OK", list)])
}

#[test]
fn three_questions_and_a_conversation() {
    let workshop = Workshop::new("");
    let server = ollama();
    let host = server.url().trim_end_matches("/v1").to_owned();
    let variables = [
        ("OLLAMA_HOST", host.as_str()),
        ("ANTHROPIC_API_KEY", "secret"),
    ];
    let mut screen = Screen::start(&workshop, (100, 50), &[], &variables);
    screen.shows("gadgetry found these. Which one answers you?");
    screen.shows("1  anthropic, by ANTHROPIC_API_KEY");
    let text = screen.shows("ollama, a server at");
    let number = text.lines().find(|it| it.contains("ollama, a server at"));
    let number = number
        .expect("a row")
        .trim_start()
        .trim_start_matches(['|', ':', ' ']);
    let number = number.split(' ').next().expect("a number").to_owned();
    // What is no answer is asked again.
    screen.say("99");
    screen.shows("Type a number from 1 to ");
    screen.until("the question again", |text| {
        text.matches("Which one answers you?").count() == 2
    });
    screen.say(&number);
    screen.shows("Which model? A number, or the name of another one.");
    screen.shows("1  ollama:small");
    screen.say("large");
    screen.shows("The server has no model large.");
    screen.say("small");
    screen.shows("Where may it work? A number, or the path of another folder.");
    screen.say("1");
    screen.shows("has the model from now on");
    let text = screen.shows("Message, /help for commands");
    assert!(text.contains("ollama:small"), "{text}");
    screen.say("/quit");
    assert_eq!(screen.ends().0, 0);
    assert_eq!(
        workshop.read("no-config/gadgetry/config.toml"),
        "model = \"ollama:small\"\n"
    );
    // The next time there are no questions.
    let mut screen = Screen::start(&workshop, (100, 50), &[], &variables);
    let text = screen.shows("Message, /help for commands");
    assert!(!text.contains("Which one answers you?"), "{text}");
    screen.say("/quit");
    assert_eq!(screen.ends().0, 0);
}

/// Its models are the ones to choose from, although the key has short names for others.
#[test]
fn a_server_that_the_environment_names() {
    let workshop = Workshop::new("");
    let server = ollama();
    let url = server.url();
    let mut variables = NO_SERVERS.to_vec();
    variables.extend([("OPENAI_BASE_URL", url), ("OPENAI_API_KEY", "secret")]);
    let mut screen = Screen::start(&workshop, (80, 50), &[], &variables);
    let text = screen.shows("Which one answers you?");
    assert!(!text.contains("by OPENAI_API_KEY"), "{text}");
    screen.shows(&format!("1  openai, a server at {url}"));
    screen.say("");
    screen.shows("1  openai:small");
    screen.say("");
    screen.shows("Where may it work?");
    screen.say("");
    let text = screen.shows("Message, /help for commands");
    assert!(text.contains("openai:small"), "{text}");
    screen.say("/quit");
    assert_eq!(screen.ends().0, 0);
}

/// The server that an option names is the one that answers, and its name alone is not kept.
#[test]
fn a_server_that_an_option_names() {
    let workshop = Workshop::new("");
    let server = ollama();
    let args = ["chat", "--base-url", server.url()];
    let mut screen = Screen::start(&workshop, (80, 50), &args, &NO_SERVERS);
    let text = screen.shows("Which model? A number, or the name of another one.");
    assert!(!text.contains("Which one answers you?"), "{text}");
    screen.shows("1  small");
    screen.say("other");
    screen.shows("The server has no model other.");
    screen.say("");
    screen.shows("Where may it work?");
    screen.say("");
    screen.shows("Message, /help for commands");
    screen.say("/quit");
    assert_eq!(screen.ends().0, 0);
    assert!(!workshop.has("no-config/gadgetry/config.toml"));
}

#[test]
fn a_shortcut_and_another_folder() {
    let workshop = Workshop::new("");
    std::fs::create_dir(workshop.path("other")).expect("a folder");
    workshop.write("no-config", "");
    std::fs::remove_file(workshop.path("no-config")).expect("a file");
    let variables = [("ANTHROPIC_API_KEY", "secret")];
    let mut screen = Screen::start(&workshop, (100, 50), &[], &variables);
    screen.shows("Which one answers you?");
    screen.say("");
    screen.shows("1  haiku");
    screen.say("claude-opus-5-5");
    screen.shows("Where may it work?");
    screen.say("nonesuch");
    screen.shows("There is no folder nonesuch.");
    screen.until("the question again", |text| {
        text.matches("Where may it work?").count() == 2
    });
    screen.say("other");
    screen.shows("Message, /help for commands");
    screen.say("/quit");
    assert_eq!(screen.ends().0, 0);
    let kept = workshop.read("no-config/gadgetry/config.toml");
    assert_eq!(kept, "model = \"anthropic:claude-opus-5-5\"\n");
}

#[test]
fn without_a_key_or_a_server_it_says_how_to_begin() {
    let workshop = Workshop::new("");
    let screen = Screen::start(&workshop, (120, 50), &[], &NO_SERVERS);
    let (code, text) = screen.ends();
    assert_eq!(code, 0, "{text}");
    for part in [
        "export ANTHROPIC_API_KEY=",
        "start a local server",
        "gadgetry demo",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(
        text.lines().filter(|it| !it.trim().is_empty()).count() < 10,
        "{text}"
    );
}

#[test]
fn a_model_from_the_environment() {
    let workshop = Workshop::new(&reply("Hi."));
    let mut command = workshop.command(&["agent", "-p", "Go!"]);
    command.env("GADGETRY_MODEL", "script:script.jsonl");
    Ended::of(&mut command).check("Hi.\n", "", 0);
    // Without one, the line names what the keys are good for.
    let mut command = workshop.command(&["agent", "hello"]);
    let ended = Ended::of(command.env("OPENAI_API_KEY", "secret"));
    assert_eq!((ended.stdout.as_str(), ended.code), ("", Some(2)));
    for part in [
        "--model NAME",
        "GADGETRY_MODEL",
        "(OPENAI_API_KEY is set)",
        "`gadgetry doctor`",
    ] {
        assert!(ended.stderr.contains(part), "{part}: {ended:?}");
    }
    assert!(!ended.stderr.contains("secret") && ended.stderr.lines().count() == 1);
    // So it does with the models of servers on this machine.
    let models =
        r#"{"object":"list","data":[{"id":"small\u202e","object":"model"},{"id":"no\u001b[2J"}]}"#;
    let server = Server::start(vec![Reply::Gets("/v1/models", "200 OK", models.to_owned())]);
    let mut command = workshop.command(&["agent", "hello"]);
    command
        .envs(NO_SERVERS)
        .env("OLLAMA_BASE_URL", server.url());
    let ended = Ended::of(&mut command);
    let url = server.url();
    let example = format!("; for example ollama:small\\u{{202e}} (at {url}); `gadgetry models`");
    assert!(ended.stderr.contains(&example), "{example}: {ended:?}");
}

#[test]
fn an_interrupt_or_the_end_of_input_leaves() {
    for keys in ["\u{3}", "\u{4}"] {
        let workshop = Workshop::new("");
        let variables = [("ANTHROPIC_API_KEY", "secret")];
        let mut screen = Screen::start(&workshop, (100, 60), &[], &variables);
        screen.shows("Which one answers you?");
        screen.shows("[1]");
        screen.keys(keys);
        let (_, text) = screen.ends();
        assert!(!text.contains("Which model?"), "{text}");
        assert!(!workshop.has("no-config/gadgetry/config.toml"));
    }
}

/// Lines as wide as a wide terminal cannot be read.
#[test]
fn help_is_not_as_wide_as_the_terminal() {
    let workshop = Workshop::new("");
    for args in [
        &["--help"][..],
        &["agent", "--help-all"],
        &["chat", "-h"],
        &["parse", "-h"],
    ] {
        let screen = Screen::start(&workshop, (220, 700), args, &[]);
        let (code, text) = screen.ends();
        assert_eq!(code, 0, "{text}");
        let widest = text.lines().map(|it| it.trim_end().chars().count()).max();
        assert!(widest <= Some(100), "{args:?}: {widest:?}: {text}");
    }
}

/// `chat` with its own words, too; where it may work is only asked if they do not say that.
#[test]
fn a_conversation_without_a_model_asks_the_same() {
    let workshop = Workshop::new("");
    std::fs::create_dir(workshop.path("other")).expect("a folder");
    let variables = [("ANTHROPIC_API_KEY", "secret")];
    let args = ["chat", "--workspace", "other", "--session", "mine"];
    let mut screen = Screen::start(&workshop, (100, 50), &args, &variables);
    screen.shows("Which one answers you?");
    screen.say("");
    screen.shows("1  haiku");
    screen.say("");
    let text = screen.shows("Message, /help for commands");
    assert!(!text.contains("Where may it work?"), "{text}");
    screen.say("/quit");
    assert_eq!(screen.ends().0, 0);
}
