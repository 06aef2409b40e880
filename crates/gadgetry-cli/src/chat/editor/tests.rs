use super::*;

/// The text, with `|` at the cursor, after these keys: `<` and `>` move, `^` and `v` recall, `%` is Alt+Enter, `#` is Tab.
fn typed(history: &[&str], keys: &str) -> (String, Edited) {
    let history = history.iter().map(|it| (*it).to_owned().into()).collect();
    let mut editor = Editor::new(History::new(history));
    editor.add_files(Vec::new());
    let mut edited = Edited::Nothing;
    for c in keys.chars() {
        let (code, modifiers) = match c {
            '<' => (KeyCode::Left, KeyModifiers::NONE),
            '>' => (KeyCode::Right, KeyModifiers::NONE),
            '^' => (KeyCode::Up, KeyModifiers::NONE),
            'v' => (KeyCode::Down, KeyModifiers::NONE),
            '%' => (KeyCode::Enter, KeyModifiers::ALT),
            '\n' => (KeyCode::Enter, KeyModifiers::NONE),
            '#' => (KeyCode::Tab, KeyModifiers::NONE),
            '~' => (KeyCode::Char('r'), KeyModifiers::CONTROL),
            c => (KeyCode::Char(c), KeyModifiers::NONE),
        };
        edited = editor.key(KeyEvent::new(code, modifiers));
    }
    let cursor = editor.area.cursor();
    let mut lines: Vec<String> = editor.area.lines().to_vec();
    let at = lines[cursor.0]
        .char_indices()
        .nth(cursor.1)
        .map_or(lines[cursor.0].len(), |it| it.0);
    lines[cursor.0].insert(at, '|');
    (lines.join("\n"), edited)
}

#[test]
fn keys_edit_the_text() {
    let check = |history: &[&str], keys: &str, text: &str, edited: Edited| {
        assert_eq!(typed(history, keys), (text.to_owned(), edited), "{keys:?}");
    };
    let nothing = Edited::Nothing;
    check(&[], "ab<c", "ac|b", nothing);
    check(&[], "ab\n", "ab|", Edited::Submit);
    check(&[], "a%b\\\nc", "a\nb\nc|", nothing);
    check(&["old", "new"], "x^", "new|", nothing);
    check(&["old", "new"], "x^^^", "old|", nothing);
    check(&["old", "new"], "x^^vv", "x|", nothing);
    check(&[], "x^v", "x|", nothing);
    check(&["alpha", "beta", "alphabet"], "~alp", "|", nothing);
    check(
        &["alpha", "beta", "alphabet"],
        "~alp\n",
        "alphabet|",
        nothing,
    );
    check(&["alpha", "beta", "alphabet"], "~alp~\n", "alpha|", nothing);
    check(&["alpha"], "~zzz\n", "|", nothing);
    check(&[], "/mo#x", "/modelx|", nothing);
    check(&[], "/mo\n", "/model|", nothing);
    check(&[], "/help\n", "/help|", Edited::Submit);
    check(&[], "a@", "a@|", nothing);
}

#[test]
fn keys_of_a_picker() {
    let check = |proposed: &str, keys: &str, text: &str| {
        let mut editor = Editor::new(History::new(Vec::new()));
        editor.set_names(Names {
            sessions: vec![
                ("monday".to_owned(), "Mend the roof".to_owned()),
                ("sunday".to_owned(), "Paint it, coat 7".to_owned()),
            ],
            ..Names::default()
        });
        editor.propose(proposed);
        for c in keys.chars() {
            let code = match c {
                '^' => KeyCode::Esc,
                '#' => KeyCode::Tab,
                '\n' => KeyCode::Enter,
                '<' => KeyCode::Backspace,
                c => KeyCode::Char(c),
            };
            let edited = editor.key(KeyEvent::new(code, KeyModifiers::NONE));
            // Once, also from a picker.
            assert_eq!(
                edited == Edited::Submit,
                c == '\n',
                "{proposed:?}, {keys:?}"
            );
        }
        assert_eq!(editor.visible(), text, "{proposed:?}, {keys:?}");
    };
    check("/resume ", "^", "");
    check("/resume ", "mon^", "");
    check("/resume ", "mon#^", "/resume monday");
    check("/resume ", "<^", "/resume");
    // Enter takes the one that is marked.
    check("/resume ", "\n", "/resume monday");
    check("/resume ", "mo\n", "/resume monday");
    // By words of its title.
    check("/resume ", "coat 7\n", "/resume sunday");
    check("/resume ", "ROOF\n", "/resume monday");
    check("", "/resume mo\n", "/resume mo");
    check("/resume ", "<<<<<<<</resume mo\n", "/resume mo");
    // The user has typed these.
    check("", "/resume mon^", "/resume mon");
    check("/resume mon", "^", "/resume mon");
    check("/resume ", "^/resume m^", "/resume m");
}

#[test]
fn models_that_can_be_used_come_first() {
    let check = |typed: &str, expected: &[&str]| {
        let mut editor = Editor::new(History::default());
        let names = |names: &[&str]| names.iter().map(|it| (*it).to_owned()).collect();
        editor.set_names(Names {
            models: names(&["openai:gpt-5-mini", "ollama:qwen3"]),
            other_models: names(&["xai:grok", "anthropic:gpt"]),
            ..Names::default()
        });
        editor.paste(typed);
        let rows = editor.menu_rows(80, 10);
        let rows: Vec<String> = rows.iter().map(ToString::to_string).collect();
        let rows: Vec<&str> = rows.iter().map(|it| it.trim_matches(['›', ' '])).collect();
        assert_eq!(rows, expected, "{typed}");
    };
    check("/model ", &["ollama:qwen3", "openai:gpt-5-mini"]);
    let grok = "xai:grok           no key is set";
    check(
        "/model g",
        &[
            "openai:gpt-5-mini",
            grok,
            "anthropic:gpt      no key is set",
        ],
    );
    check("/model gro", &["xai:grok  no key is set"]);
}

#[test]
fn files_are_ranked_by_their_names() {
    let files = [
        "src/main.rs",
        "src/domain.rs",
        "docs/",
        "mango/a.rs",
        "x/mini.txt",
    ];
    let check = |word: &str, expected: &[&str]| {
        let mut editor = Editor::new(History::default());
        editor.paste(&format!("see @{word}"));
        editor.add_files(files.map(str::to_owned).to_vec());
        let rows = editor.menu_rows(80, 10);
        let name = |row: &Line<'_>| row.to_string().trim_matches(['›', ' ']).to_owned();
        let rows: Vec<String> = rows.iter().map(name).collect();
        assert_eq!(rows, expected, "{word}");
    };
    check("main", &["src/main.rs", "src/domain.rs"]);
    check("doc", &["docs/"]);
    check(
        "mn",
        &["mango/a.rs", "x/mini.txt", "src/main.rs", "src/domain.rs"],
    );
    check("nonesuch", &[]);
}

#[test]
fn files_complete_while_they_arrive() {
    let mut editor = Editor::new(History::default());
    assert_eq!(editor.paste("see @src/ma"), Edited::NeedsFiles);
    assert_eq!(editor.folder(), "src/");
    let shown = |editor: &Editor| editor.menu_rows(80, 3).first().map(ToString::to_string);
    let add = |editor: &mut Editor, names: &[&str]| {
        editor.add_files(names.iter().map(|it| (*it).to_owned()).collect());
        shown(editor)
    };
    assert_eq!(add(&mut editor, &["src/", "docs/"]), None);
    // The same name may arrive twice, and a better one late.
    let found = add(&mut editor, &["src/mar.rs", "src/mar.rs"]);
    assert_eq!(found.as_deref().map(str::trim_end), Some("› src/mar.rs"));
    assert_eq!(editor.menu_rows(80, 3).len(), 1);
    let found = add(&mut editor, &["src/ma.rs"]);
    assert_eq!(found.as_deref().map(str::trim_end), Some("› src/ma.rs"));
    // A selected one stays where it is, and closed completions stay closed.
    editor.key(KeyEvent::new(KeyCode::Down, KeyModifiers::NONE));
    let before = editor.menu_rows(80, 3);
    add(&mut editor, &["src/m"]);
    assert_eq!(editor.menu_rows(80, 3), before);
    editor.key(KeyEvent::new(KeyCode::Esc, KeyModifiers::NONE));
    assert_eq!(add(&mut editor, &["src/mall.rs"]), None);
    let needed = editor.key(KeyEvent::new(KeyCode::Char('x'), KeyModifiers::NONE));
    assert_eq!(needed, Edited::Nothing);
    let needed = editor.key(KeyEvent::new(KeyCode::Char('/'), KeyModifiers::NONE));
    assert_eq!(needed, Edited::NeedsFolder);
    assert_eq!(editor.folder(), "src/max/");
}

#[test]
fn only_the_best_of_many_files_are_kept() {
    let mut editor = Editor::new(History::default());
    editor.paste("see @f1");
    for piece in 0..200 {
        let names = (0..1000).map(|file| format!("d{piece}/f{}", piece * 1000 + file));
        editor.add_files(names.collect());
    }
    let rows = editor.menu_rows(80, 3);
    assert!(rows[0].to_string().contains("› d0/f1"), "{rows:?}");
    let entries = rows.last().unwrap().to_string();
    assert!(entries.contains("1 of the best 50;"), "{entries}");
}

#[test]
fn pastes_are_expanded_once() {
    let mut editor = Editor::new(History::default());
    // A paste that looks like the label of the next one.
    let first = format!("[paste 2: 20 lines]\n{}", "a\n".repeat(19));
    let second = "b\r\n".repeat(20);
    editor.paste(&first);
    editor.paste(" and \u{1b}[31m ");
    editor.paste(&second);
    assert_eq!(
        editor.area.lines(),
        ["[paste 1: 20 lines] and [31m [paste 2: 20 lines]"]
    );
    assert_eq!(
        editor.take().full(),
        format!("{first} and [31m {}", "b\n".repeat(20))
    );
    assert!(editor.is_empty());
    editor.paste(&first);
    editor.key(KeyEvent::new(KeyCode::Backspace, KeyModifiers::NONE));
    assert!(editor.is_empty());
    assert_eq!(editor.paste(&"x".repeat(LONGEST + 1)), Edited::Full);
    assert!(editor.is_empty());
}

#[test]
fn a_paste_that_is_shown_again_is_a_label() {
    let rows = "b\n".repeat(20);
    let check = |again: &dyn Fn(&mut Editor), shown: &str, sent: &str| {
        let mut editor = Editor::new(History::default());
        editor.paste("see ");
        editor.paste(&rows);
        editor.take();
        again(&mut editor);
        assert_eq!((&*editor.visible(), &*editor.typed().full()), (shown, sent));
    };
    let (label, full) = ("see [paste 1: 20 lines]", format!("see {rows}"));
    check(&|it| _ = it.key(KeyCode::Up.into()), label, &full);
    check(&|it| it.propose(&full), label, &full);
    let search = |it: &mut Editor| {
        it.key(KeyEvent::new(KeyCode::Char('r'), KeyModifiers::CONTROL));
        it.key(KeyCode::Char('b').into());
        it.key(KeyCode::Enter.into());
    };
    check(&search, label, &full);
    // What is typed meanwhile has labels of its own.
    let draft = |it: &mut Editor| {
        it.paste(&"d\n".repeat(20));
        it.key(KeyCode::Up.into());
        it.key(KeyCode::Down.into());
    };
    check(&draft, "[paste 1: 20 lines]", &"d\n".repeat(20));
    let more = |it: &mut Editor| {
        it.key(KeyCode::Up.into());
        it.paste(&"e\n".repeat(11));
    };
    let both = format!("{full}{}", "e\n".repeat(11));
    let labels = "see [paste 1: 20 lines][paste 2: 11 lines]";
    check(&more, labels, &both);
}

#[test]
fn the_cursor_is_where_the_text_is() {
    let check = |text: &str, columns: u16, expected: &[&str], cursor: (usize, u16)| {
        let mut editor = Editor::new(History::default());
        editor.paste(text);
        let (rows, at) = editor.rows(columns, 3);
        let rows: Vec<String> = rows.iter().map(ToString::to_string).collect();
        assert_eq!(
            (&rows[..], at),
            (
                &expected
                    .iter()
                    .map(|it| (*it).to_owned())
                    .collect::<Vec<_>>()[..],
                cursor
            ),
            "{text}"
        );
    };
    check("ab", 20, &["> ab"], (0, 4));
    check("日本", 20, &["> 日本"], (0, 6));
    check("a\nb", 20, &["> a", "  b"], (1, 3));
    check("1\n2\n3\n4\n5", 20, &["  3", "  4", "  5"], (2, 3));
    check("one two three", 10, &["> one two", "  three"], (1, 7));
}
