"""The routes of the page and the API, one row for each thing they can do."""
