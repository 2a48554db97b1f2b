"""Many worlds: random, swept, or one for each cell of the matrix; shrunk, saved and replayed."""
