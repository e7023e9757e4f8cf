"""What only a machine with a card can show, in one script of ten minutes that changes no setting of the card."""
