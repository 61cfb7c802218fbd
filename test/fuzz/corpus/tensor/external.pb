Bej
location../xp