"""States of the board that can be cited: each revision at an address that stays."""
