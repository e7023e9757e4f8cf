"""What every REST door is made of."""
