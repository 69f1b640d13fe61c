//! What users await.

pub mod sizes;
