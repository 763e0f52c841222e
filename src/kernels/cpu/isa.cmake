# One source per instruction set, compiled with its own flags; what runs is chosen at start.
