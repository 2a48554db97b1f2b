"""Every operation that people and programs can ask of a gateway; the page and the command line share it."""
