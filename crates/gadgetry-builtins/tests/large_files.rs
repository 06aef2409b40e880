//! Files that no call may read to the end.

use std::fs::{self, File};

use serde_json::json;

use crate::stage::Stage;

/// The file is longer than any disk, which takes hours to read.
#[tokio::test]
async fn a_sparse_file_ends_at_once() {
    let stage = Stage::new();
    let file = stage.work().join("sparse");
    fs::write(&file, "line\n".repeat(4_000)).unwrap();
    let sparse = File::options().append(true).open(file).unwrap();
    sparse.set_len(15 << 40).unwrap();
    let check = async |gadget: &str, parameters, expected| {
        stage.check(gadget, parameters, expected).await;
    };
    let range = |from: usize| json!({ "filePath": "sparse", "startLine": from, "endLine": from });
    let line = "path=sparse lines=4000-4000\n\nline\n";
    check("ReadFile", range(4_000), Ok(line)).await;
    check("ReadFile", range(4_001), Err("read fewer lines")).await;
    let binary = "sparse is a binary file: there are NUL characters before startLine";
    check("ReadFile", range(100_000), Err(binary)).await;
    let whole = json!({ "filePath": "sparse" });
    check("ReadFile", whole, Err("more than the 1048576 allowed")).await;
    let search = json!({ "pattern": "absent", "path": "sparse" });
    check("Search", search, Ok("No matches\n")).await;
    let edit = json!({ "filePath": "sparse", "search": "absent", "replace": "x" });
    check("EditFile", edit, Err("more than the 16777216 allowed")).await;
}

/// Rules of hundreds of folders, each a file of the largest size, would take hours.
#[tokio::test]
async fn ignore_rules_are_limited_in_all() {
    let stage = Stage::new();
    let write = |name: &str, text: &str| {
        let path = stage.work().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    for folder in ["a", "b", "c"] {
        let line = "x".repeat(4095) + "\n";
        let rules = "*.txt\n".to_owned() + &line.repeat(40);
        write(&format!("many/{folder}/.gitignore"), &rules);
        write(&format!("many/{folder}/needle.txt"), "needle\n");
    }
    let search = json!({ "pattern": "needle", "path": "many" });
    let found = "many/b/needle.txt:1:needle\nmany/c/needle.txt:1:needle\n2 matches in 2 files\n";
    stage.check("Search", search, Ok(found)).await;
}
