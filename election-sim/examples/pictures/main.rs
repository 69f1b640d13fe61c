//! Draws the pictures of the README and the guide: what happens when leadership passes on.
//!
//! `cargo run -p election-sim --example pictures` plays a scenario for each and draws what happened into
//! `election-driver/pictures`. The test fails if a picture in the tree shows anything else. Rustdoc copies
//! no files, so beside each picture stands the definition of its link there: the picture itself, as a URI.

mod draw;
mod run;
mod stories;

use draw::Drawing;
use run::Run;
use std::{error::Error, fmt::Write as _, fs};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../election-driver/pictures");

/// A name, a scenario, and what of it is drawn.
type Picture = (&'static str, &'static str, fn(&Run) -> Result<Drawing, String>);

const PICTURES: [Picture; 4] = [
    (
        "takeover",
        include_str!("../../tests/scenarios/leader-work-outlives-the-lease-never.scn"),
        stories::takeover,
    ),
    ("slow-answer", include_str!("../../tests/scenarios/slow-answer.scn"), stories::slow_answer),
    (
        "drain",
        include_str!("../../tests/scenarios/successor-waits-for-the-work.scn"),
        stories::drain,
    ),
    (
        "cluster",
        include_str!("../../tests/scenarios/quorum/partition-of-43-seconds.scn"),
        stories::cluster,
    ),
];

/// The files of all pictures.
fn files() -> Result<Vec<(String, String)>, Box<dyn Error>> {
    let mut files = Vec::new();
    for (name, scenario, story) in PICTURES {
        let svg = story(&Run::of(&scenario.parse()?)?)?.svg();
        let definition = format!("[{name}]: data:image/svg+xml,{}\n", encoded(&svg));
        files.push((format!("{FOLDER}/{name}.svg"), svg));
        files.push((format!("{FOLDER}/{name}.md"), definition));
    }
    Ok(files)
}

/// For a URI: what is neither a letter nor a digit nor harmless, in hexadecimal.
fn encoded(svg: &str) -> String {
    let mut uri = String::new();
    for byte in svg.bytes() {
        let _ = match byte {
            b'-' | b'.' | b'/' | b':' | b'=' | b';' | b',' => write!(uri, "{}", char::from(byte)),
            _ if byte.is_ascii_alphanumeric() => write!(uri, "{}", char::from(byte)),
            _ => write!(uri, "%{byte:02X}"),
        };
    }
    uri
}

fn main() -> Result<(), Box<dyn Error>> {
    for (path, text) in files()? {
        fs::write(&path, text)?;
        println!("{path}");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pictures_in_the_tree_show_what_the_simulator_plays() {
        for (path, text) in files().unwrap() {
            let there = fs::read_to_string(&path).unwrap();
            assert!(there == text, "cargo run -p election-sim --example pictures draws {path}");
        }
    }
}
