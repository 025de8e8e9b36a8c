//! Placeholder of the first commit's skeleton.
