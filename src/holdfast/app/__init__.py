"""App: configuration and the composition of the stages. Import what is needed from its modules.

Nothing is imported here: whoever only wants to find the home, or to keep a gateway up, stays small.
"""
