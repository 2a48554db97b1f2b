"""Every operation of a gateway for people and programs. The page and the command line share them."""
