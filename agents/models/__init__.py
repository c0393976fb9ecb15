"""Language models: what every back end answers, and the back ends. Only here and in training is torch imported."""
