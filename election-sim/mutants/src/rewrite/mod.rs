//! Rewrites source so that every small change of it stands behind a switch.
//!
//! A mutant is one change: a condition that always holds, a statement that is left out, a bound
//! that is off by one. The rewritten source contains all of them and behaves as before until a
//! switch is on. Building it once is what makes trying thousands of them possible.
//!
//! Some kinds are left out because others are stricter: an operator that is turned round (`<` into
//! `>=`, `&&` into `||`, `!` removed) differs wherever the condition that always holds or never
//! holds differs, and in more places.
//!
//! Some are left out because they do not compile in bulk: a switch is a call, so nothing inside a
//! `const fn`, a constant or a pattern can change; a match arm can only fall through if there is an
//! arm for everything; `?` can only be told to fail where the function returns an `Option`.

mod conditions;
mod expressions;
mod functions;
mod statements;
#[cfg(test)]
mod tests;

use crate::mutation::{Branch, Mutant};
use proc_macro2::{Span, TokenStream};
use quote::quote;
use std::collections::BTreeSet;
use syn::{Item, Type};

/// All that was found, over all files.
#[derive(Default)]
pub(crate) struct Found {
    pub(crate) mutants: Vec<Mutant>,
    pub(crate) branches: Vec<Branch>,
}

/// What the function returns whose body is being rewritten.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Returns {
    Option,
    Else,
}

/// What is expected of an expression where it stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// A value of any type.
    Value,
    /// `true` or `false`, and the whole of it is replaced elsewhere.
    Truth,
    /// Nothing: it is there for its effect.
    Effect,
}

struct Rewriter<'a> {
    file: &'a str,
    source: &'a str,
    /// The named constants that have neighbours.
    constants: &'a BTreeSet<String>,
    found: &'a mut Found,
    function: String,
    returns: Returns,
    /// The variables that the loops around an expression take what they hold from.
    emptied: Vec<String>,
}

/// Rewrites one file. `file` is its name in the lists.
pub(crate) fn rewrite(
    file: &str,
    source: &str,
    constants: &BTreeSet<String>,
    found: &mut Found,
) -> syn::Result<String> {
    let mut tree = syn::parse_file(source)?;
    let function = String::new();
    let returns = Returns::Else;
    let emptied = Vec::new();
    let mut rewriter = Rewriter { file, source, constants, found, function, returns, emptied };
    rewriter.items(&mut tree.items);
    // The printer takes an arrow in an attribute for two tokens.
    Ok(prettyplease::unparse(&tree).replace("= >", "=>"))
}

/// The names of the constants in `source` whose type has neighbours.
pub(crate) fn constants(source: &str, names: &mut BTreeSet<String>) -> syn::Result<()> {
    const NUMBERS: [&str; 9] =
        ["u8", "u16", "u32", "u64", "u128", "usize", "i32", "i64", "Duration"];
    for item in syn::parse_file(source)?.items {
        let Item::Const(constant) = item else { continue };
        let Type::Path(path) = &*constant.ty else { continue };
        if path.path.segments.last().is_some_and(|last| NUMBERS.iter().any(|n| last.ident == n)) {
            names.insert(constant.ident.to_string());
        }
    }
    Ok(())
}

impl Rewriter<'_> {
    /// The source text from one end of a span to the other, on one line.
    fn text(&self, span: Span) -> String {
        let range = span.byte_range();
        let text = self.source.get(range).unwrap_or("");
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// Notes a mutant, and returns the question whether it is on.
    fn mutant(&mut self, span: Span, before: &str, after: &str) -> TokenStream {
        let id = self.number(span, before, after);
        quote!(crate::switch::on(#id))
    }

    fn number(&mut self, span: Span, before: &str, after: &str) -> u32 {
        let found = &mut self.found.mutants;
        let id = u32::try_from(found.len()).expect("fewer than 2³² mutants");
        found.push(Mutant::new(self.file, span.start().line, &self.function, before, after));
        id
    }

    /// Notes a branch, and returns the statement that counts it.
    fn branch(&mut self, span: Span, what: &str) -> syn::Stmt {
        let id = self.branch_number(span, what);
        syn::parse_quote!(crate::switch::hit(#id);)
    }

    /// The same for a branch that may be taken again and again.
    fn round(&mut self, span: Span, what: &str) -> syn::Stmt {
        let id = self.branch_number(span, what);
        syn::parse_quote!(crate::switch::enter(#id);)
    }

    fn branch_number(&mut self, span: Span, what: &str) -> u32 {
        let branches = &mut self.found.branches;
        let id = u32::try_from(branches.len()).expect("fewer than 2³² branches");
        branches.push(Branch {
            file: self.file.to_owned(),
            line: span.start().line,
            function: self.function.clone(),
            what: crate::mutation::shortened(what),
        });
        id
    }
}
