"""A gateway in virtual time: the loop, its ports, and the people and machine around it."""
