//! What is true or false: each part of a condition is told to be either.

use super::{Place, Rewriter};
use proc_macro2::Span;
use quote::quote;
use syn::{
    BinOp, Expr, Macro, Pat, Token, UnOp, parse::Parser as _, parse_quote, spanned::Spanned as _,
};

/// As what a part of a condition is to count, whatever it says.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Forced {
    pub(super) yes: bool,
    pub(super) no: bool,
}

impl Forced {
    pub(super) const BOTH: Self = Self { yes: true, no: true };
    pub(super) const NEITHER: Self = Self { yes: false, no: false };
    pub(super) const YES: Self = Self { yes: true, no: false };
    pub(super) const NO: Self = Self { yes: false, no: true };

    const fn flipped(self) -> Self {
        Self { yes: self.no, no: self.yes }
    }
}

impl Rewriter<'_> {
    pub(super) fn condition(&mut self, expression: &mut Expr, forced: Forced) {
        let (span, text) = (expression.span(), self.text(expression.span()));
        match expression {
            Expr::Paren(inner) => return self.condition(&mut inner.expr, forced),
            Expr::Unary(unary) if matches!(unary.op, UnOp::Not(_)) => {
                return self.condition(&mut unary.expr, forced.flipped());
            }
            Expr::Let(_) => return self.let_condition(expression),
            Expr::Binary(binary) if matches!(binary.op, BinOp::And(_)) => {
                self.condition(&mut binary.left, Forced::YES);
                self.condition(&mut binary.right, Forced::YES);
                return self.force(expression, span, &text, Forced { yes: false, ..forced });
            }
            Expr::Binary(binary) if matches!(binary.op, BinOp::Or(_)) => {
                self.condition(&mut binary.left, Forced::NO);
                self.condition(&mut binary.right, Forced::NO);
                return self.force(expression, span, &text, Forced { no: false, ..forced });
            }
            Expr::Binary(binary) if is_comparison(&binary.op) => self.comparison(expression),
            Expr::Lit(_) => return,
            _ => self.expression(expression, Place::Truth),
        }
        self.force(expression, span, &text, forced);
    }

    fn force(&mut self, expression: &mut Expr, span: Span, text: &str, forced: Forced) {
        if forced.yes {
            let on = self.mutant(span, text, "true");
            *expression = parse_quote!(((#expression) | #on));
        }
        if forced.no {
            let on = self.mutant(span, text, "false");
            *expression = parse_quote!(((#expression) & !#on));
        }
    }

    /// `if let`: nothing matches.
    fn let_condition(&mut self, expression: &mut Expr) {
        let (span, text) = (expression.span(), self.text(expression.span()));
        let Expr::Let(found) = expression else { return };
        self.value(&mut found.expr);
        let on = self.mutant(span, &text, "false");
        *expression = parse_quote!(#expression && !#on);
    }

    /// The bound of a comparison is off by one. That it holds or not is the caller's to change.
    fn comparison(&mut self, expression: &mut Expr) {
        let (span, text) = (expression.span(), self.text(expression.span()));
        let Expr::Binary(binary) = expression else { return };
        self.value(&mut binary.left);
        self.value(&mut binary.right);
        let other = match &binary.op {
            BinOp::Lt(_) => quote!(<=),
            BinOp::Le(_) => quote!(<),
            BinOp::Gt(_) => quote!(>=),
            BinOp::Ge(_) => quote!(>),
            _ => return,
        };
        let on = self.mutant(span, &text, &format!("{other}"));
        let (left, op, right) = (&binary.left, &binary.op, &binary.right);
        *expression = parse_quote!((match (&(#left), &(#right)) {
            (left, right) => if #on { left #other right } else { left #op right },
        }));
    }

    /// `matches!` as the match that it stands for, with an arm for each alternative.
    pub(super) fn matches(&mut self, call: &Macro) -> Option<Expr> {
        let parse = |input: syn::parse::ParseStream<'_>| {
            let value: Expr = input.parse()?;
            input.parse::<Token![,]>()?;
            let pattern = Pat::parse_multi_with_leading_vert(input)?;
            let guard: Option<Expr> = match input.parse::<Option<Token![if]>>()? {
                Some(_) => Some(input.parse()?),
                None => None,
            };
            input.parse::<Option<Token![,]>>()?;
            Ok((value, pattern, guard))
        };
        let (mut value, pattern, mut guard) = parse.parse2(call.tokens.clone()).ok()?;
        self.value(&mut value);
        if let Some(guard) = &mut guard {
            self.condition(guard, Forced::BOTH);
            return Some(parse_quote!((match #value { #pattern if #guard => true, _ => false })));
        }
        let Pat::Or(alternatives) = &pattern else {
            return Some(parse_quote!((match #value { #pattern => true, _ => false })));
        };
        let mut arms = Vec::new();
        for case in &alternatives.cases {
            let text = self.text(case.span());
            let on = self.mutant(case.span(), &text, "the default arm");
            arms.push(quote!(#case if !#on => true,));
        }
        Some(parse_quote!((match #value { #(#arms)* _ => false })))
    }
}

pub(super) fn is_comparison(op: &BinOp) -> bool {
    matches!(
        op,
        BinOp::Eq(_) | BinOp::Ne(_) | BinOp::Lt(_) | BinOp::Le(_) | BinOp::Gt(_) | BinOp::Ge(_)
    )
}
