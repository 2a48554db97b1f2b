"""The commands of `holdfast`, grouped as its help shows them."""
