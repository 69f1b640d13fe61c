//! `.scn` files: no text panics the reader, every error points into the text, and what is read
//! prints to something that reads the same.
#![no_main]

use election_sim::Scn;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    match text.parse::<Scn>() {
        Ok(scn) => {
            let printed = scn.to_string();
            let again: Scn = printed.parse().unwrap_or_else(|why| panic!("{why}\n{printed}"));
            assert_eq!(again.schedule, scn.schedule, "{printed}");
            assert_eq!(again.to_string(), printed);
        }
        Err(error) => {
            let lines = text.lines().count().max(1);
            assert!((1..=lines).contains(&error.line), "{error} of {lines} lines");
            let longest = text.lines().map(|line| line.chars().count()).max().unwrap_or(0);
            assert!((1..=longest + 1).contains(&error.column), "{error}");
        }
    }
});
