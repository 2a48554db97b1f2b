"""Running the tools of a turn: started after their commit, within their time, gathered as they end."""
