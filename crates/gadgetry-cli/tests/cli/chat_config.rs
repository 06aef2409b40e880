//! `gadgetry chat` with a configuration, in a terminal.

use super::screen::Screen;
use super::server::{Reply, Server};
use super::workshop::{Workshop, call, reply};

/// With a model in the configuration, `gadgetry` alone is a conversation. A rule for good is kept in the user's file.
#[test]
fn the_configuration_is_enough() {
    let write = "!!!ARG:filePath\nsrc/a.txt\n!!!ARG:content\nx\n";
    let calls =
        call("WriteFile:w", write) + &call("WriteFile:v:w", &write.replace("a.txt", "b.txt"));
    let workshop = Workshop::new(&(reply(&calls) + &reply("Written.")));
    let file = "config/gadgetry/config.toml";
    let path = workshop.path(file);
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    let model = workshop.path("script.jsonl");
    let config = format!("model = 'script:{}' # mine\n", model.display());
    workshop.write(file, &config);
    let folder = workshop.path("config");
    let folder = folder.to_str().expect("it is text");
    let mut screen = Screen::start(&workshop, (100, 40), &[], &[("XDG_CONFIG_HOME", folder)]);
    screen.shows("script.jsonl");
    screen.say("Write them.");
    // The second rule is about the folder, so the second call is not a question.
    screen.shows("a always: WriteFile(src/a.txt)");
    screen.keys("\t");
    screen.shows("a always: WriteFile(src/**)");
    screen.keys("a");
    screen.shows("Enter always allows: WriteFile(src/**)");
    screen.keys("\r");
    screen.shows("Written.");
    screen.keys("\x04");
    let (code, text) = screen.ends();
    assert_eq!(code, 0, "{text}");
    assert!(workshop.has("src/a.txt") && workshop.has("src/b.txt"));
    let rules = "\n[approvals]\nrules = [{ allow = \"WriteFile(src/**)\" }]\n";
    assert_eq!(workshop.read(file), config + rules);
}

/// What was typed for one server is not sent to that of another profile, and what the profile has for its own is.
#[test]
fn a_header_stays_with_its_server() {
    let workshop = Workshop::new("");
    let (one, other) = (
        Server::start([Reply::says("One.")]),
        Server::start([Reply::says("Other.")]),
    );
    let config = format!(
        "base-url = '{}'\n[profiles.same]\nsystem = 'Be brief.'\n[profiles.other]\nbase-url = '{}'\nheader = ['X-Own: theirs']\n",
        one.url(),
        other.url()
    );
    workshop.write("config.toml", &config);
    let args = [
        "chat",
        "--config",
        "config.toml",
        "--model",
        "vllm:m",
        "--header",
        "X-Secret: s3cret",
    ];
    let mut screen = Screen::start(&workshop, (100, 40), &args, &[]);
    screen.shows("Message, /help");
    let mut exchange = |profile: &str, answer: &str| {
        screen.say(&format!("/profile {profile}"));
        screen.shows(&format!("profile {profile} is in use"));
        screen.say("Hi.");
        screen.shows(answer);
        screen.rests();
    };
    exchange("same", "One.");
    exchange("other", "Other.");
    screen.shows("are not used for it");
    let headers = |server: &Server| {
        let asked = server.asked();
        asked
            .iter()
            .map(|it| it.headers.clone())
            .collect::<String>()
    };
    assert!(
        headers(&one).contains("x-secret: s3cret"),
        "{}",
        headers(&one)
    );
    let sent = headers(&other);
    assert!(
        !sent.contains("s3cret") && sent.contains("x-own: theirs"),
        "{sent}"
    );
    screen.keys("\x04");
    assert_eq!(screen.ends().0, 0);
}
