//! The mutants that nobody has to notice, each below the reason why.
//!
//! ```text
//! = Why the mutants below change nothing that matters.
//! quorum/rules/survey.rs rank: 0 => 1
//! ```

use std::collections::BTreeMap;

/// The reason for each accepted mutant, by its key.
pub(crate) fn read(text: &str) -> Result<BTreeMap<String, String>, String> {
    let mut accepted = BTreeMap::new();
    let mut reason = None;
    for (n, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(why) = line.strip_prefix("= ") {
            reason = Some(why.to_owned());
            continue;
        }
        let Some(why) = &reason else {
            return Err(format!("line {}: a mutant without a reason above it", n + 1));
        };
        if accepted.insert(line.to_owned(), why.clone()).is_some() {
            return Err(format!("line {}: accepted twice: {line}", n + 1));
        }
    }
    Ok(accepted)
}

#[cfg(test)]
mod tests {
    use super::read;

    #[test]
    fn each_mutant_has_the_reason_above_it() {
        let accepted = read("# A list.\n\n= First.\na => b\nc => d\n= Second.\ne => f\n").unwrap();
        assert_eq!(accepted.len(), 3);
        assert_eq!(accepted["c => d"], "First.");
        assert_eq!(accepted["e => f"], "Second.");
    }

    #[test]
    fn a_mutant_without_a_reason_or_accepted_twice_is_an_error() {
        assert!(read("a => b\n= Too late.\n").unwrap_err().contains("line 1"));
        assert!(read("= Once.\na => b\na => b\n").unwrap_err().contains("line 3"));
    }
}
