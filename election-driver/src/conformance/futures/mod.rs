//! What users await.

pub mod sizes;

use super::suite::list;

list! { $ __conformance_futures in futures:
    sizes {
        no_future_is_large: nothing;
    }
}
