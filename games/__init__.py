"""What is played: rules, states and the words a seat reads."""
