//! An inbox on the real disk: what is taken for an answer, and what is swept.

use super::*;
