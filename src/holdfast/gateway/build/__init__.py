"""Builds the parts of a gateway from its configuration: agents, platforms and MCP servers."""
