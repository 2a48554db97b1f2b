"""Many worlds: random ones, swept ones, one for each cell of the matrix; made smaller, saved and replayed."""
