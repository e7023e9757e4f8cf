"""Pure: time cut at borders, and integer quantities with a price. No clock, no database, no floats."""
