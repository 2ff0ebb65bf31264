"""One file per objective: a batch in, LossTerms out."""
