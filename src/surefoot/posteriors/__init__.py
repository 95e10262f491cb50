"""Ways of sampling networks from the posterior, one a file."""
