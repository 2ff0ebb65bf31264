"""The methods that InfoGraph is compared with, and what any method has to beat."""
