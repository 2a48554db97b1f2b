"""The page in a real browser. A package, so that one browser and one gateway serve all of it."""
